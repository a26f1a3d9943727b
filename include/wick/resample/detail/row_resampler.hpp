/// \file
/// A plan carried out row by row: source rows go in from top to bottom, each output row is written to where
/// it will stay as soon as the last row that it needs is there. Between a decoder and the batch's slot.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <wick/observe/phases.hpp>
#include <wick/pixels/geometry.hpp>
#include <wick/pixels/image.hpp>
#include <wick/pixels/row_sink.hpp>
#include <wick/resample/detail/axis.hpp>
#include <wick/resample/detail/resample_kernels.hpp>

namespace wick::detail {

/// What a thread keeps between pictures: tables and a few rows.
struct resample_scratch {
  axis columns, rows;
  std::vector<std::int32_t> first;        // of column_table
  std::vector<std::int16_t> weights;      // of column_table
  std::vector<std::int16_t> row;          // between the passes
  std::vector<std::uint8_t> quads;        // behind them
  std::vector<const std::uint8_t*> taps;  // source rows of one output row
  std::vector<std::int32_t> needed_from;  // the first source row that an output row and those after it need
  std::vector<std::uint8_t> ring;         // source rows of a picture that is never whole in memory
};

[[gnu::noinline]] resample_scratch& this_thread_resample_scratch() noexcept;

/// The thread's scratch, taken while it is used, so that a decoder called meanwhile may resample too.
class resample_lease {
 public:
  resample_lease() noexcept : scratch_(std::move(this_thread_resample_scratch())) {}
  resample_lease(const resample_lease&) = delete;
  resample_lease& operator=(const resample_lease&) = delete;
  ~resample_lease() { this_thread_resample_scratch() = std::move(scratch_); }
  resample_scratch& operator*() noexcept { return scratch_; }

 private:
  resample_scratch scratch_;
};

/// The axis tables of a plan over a picture of which `scale` pixels stand for one of the plan's source, with
/// pixel 0 at source column `left` and row `top`.
void build_axes(const plan& p, double scale, int left, int top, resample_scratch& scratch);

/// The column axis as the kernels want it. A row starts with its lowest pixel.
column_table build_column_table(const axis& columns, int channels, resample_scratch& scratch);

/// Carries out the axis tables in `scratch` over rows that show the source from pixel `left` on.
class row_blender {
 public:
  /// \throws std::bad_alloc
  row_blender(resample_scratch& scratch, int channels, int left, const picture_target& to,
              const resample_kernels& kernels = best_kernels());

  /// Whether every output row is a source row as it is and where the target wants it.
  bool whole_rows() const noexcept { return copies_ && whole_; }

  /// Output row i. source(r) is where source row r starts.
  template <class Source>
  void write(int i, Source source) noexcept {
    const axis &columns = scratch_.columns, &rows = scratch_.rows;
    if (copies_) return copy(i, source(rows.first(i)));
    const int taps = rows.count(i);
    for (int k = 0; k < taps; ++k) {
      scratch_.taps[static_cast<std::size_t>(k)] =
          source(rows.first(i) + k) + std::ptrdiff_t{columns.low() - left_} * channels_;
    }
    const auto blend = taps <= most_rounded_taps ? kernels_.blend_rows : &blend_many_rows;
    blend(scratch_.taps.data(), rows.weights(i), taps, scratch_.row.data(), values_);
    kernels_.blend_columns(scratch_.row.data(), table_, scratch_.quads.data());
    place(scratch_.quads.data(), to_.data + i * to_.row);
  }

 private:
  void copy(int i, const std::uint8_t* in) noexcept;
  void place(const std::uint8_t* quads, std::uint8_t* out) noexcept;

  resample_scratch& scratch_;
  const resample_kernels& kernels_;
  picture_target to_;
  column_table table_;
  std::size_t values_ = 0;
  int channels_, left_;
  bool copies_ = false, whole_ = false;
};

/// Carries out two axis tables over pixels that are all there. `from` shows the source from pixel (left, top)
/// on.
void resample(const picture_view& from, int left, int top, resample_scratch& scratch,
              const picture_target& to, const resample_kernels& kernels = best_kernels());

/// The same over rows that a decoder is just making. Keeps no more of them than one output row needs, and a
/// few for the decoder to fill at once. The rows of a picture that is only copied are decoded right into
/// their place.
class row_resampler final : public row_sink {
 public:
  /// `scratch` has the tables of the plan at full size already.
  row_resampler(const plan& p, resample_scratch& scratch, const picture_target& to,
                phase_timer* timer = nullptr) noexcept;

  void begin(const decoded_rows& what) override;

  std::span<std::uint8_t* const> room() override;

  void written(int count) override;

  /// Whether the whole output is written.
  bool finished() const noexcept { return done_ >= scratch_.rows.size(); }

 private:
  static constexpr std::size_t together = 8;
  /// libjpeg-turbo writes rows that are aligned around the cache (jdcolext's movntdq), and these are read at
  /// once.
  static constexpr std::size_t unaligned = 8;
  static std::size_t index(int i) noexcept { return static_cast<std::size_t>(i); }
  /// The e-th output row in the order of the source rows.
  int output(int e) const noexcept { return upwards_ ? scratch_.rows.size() - 1 - e : e; }
  std::uint8_t* slot(int row) const noexcept;

  const plan& plan_;
  resample_scratch& scratch_;
  picture_target to_;
  phase_timer* timer_;  // runs for decode, but here
  std::optional<row_blender> blender_;
  std::array<std::uint8_t*, together> room_{};
  std::size_t stride_ = 0;
  int next_ = 0, end_ = 0;  // source rows
  int done_ = 0;            // output rows
  int slots_ = 0;
  bool direct_ = false, upwards_ = false;
};

}  // namespace wick::detail
