// Carries out a plan row by row: takes source rows from top to bottom, and writes each output row to its
// destination as soon as its last source row arrives. Used between a decoder and the batch's slot.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <wick/ext/row_sink.hpp>
#include <wick/pipeline/detail/phases.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/pixels/detail/axis.hpp>
#include <wick/pixels/detail/resample_kernels.hpp>
#include <wick/pixels/geometry.hpp>
#include <wick/pixels/image.hpp>

namespace wick::inline v0_1::detail {

/// What a thread keeps between images: tables and a few rows.
struct resample_scratch {
  axis columns, rows;
  std::vector<std::int32_t> first;        // of column_table
  std::vector<std::int16_t> weights;      // of column_table
  std::vector<std::int32_t> pick_from;    // of column_table
  std::vector<std::int16_t> picks;        // of column_table
  std::vector<std::int16_t> row;          // between the passes
  std::vector<std::uint8_t> quads;        // after them
  std::vector<const std::uint8_t*> taps;  // source rows of one output row
  std::vector<std::int32_t> needed_from;  // the first source row needed by this output row or a later one
  std::vector<std::uint8_t> ring;         // source rows of an image that is never all in memory
};

[[gnu::noinline]] inline resample_scratch& this_thread_resample_scratch() noexcept {
  static thread_local resample_scratch scratch;
  return scratch;
}

/// Takes the thread's scratch while it's in use, so that a decoder called meanwhile may resample, too.
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

/// Builds a plan's axis tables for a decoded image in which `scale` pixels represent one pixel of the plan's
/// source. Pixel 0 is at source column `left` and row `top`.
inline void build_axes(const plan& p, double scale, int left, int top, resample_scratch& scratch) {
  const bool small = p.width + p.height <= 128;
  scratch.columns.build({(p.source.x - left) * scale, (p.source.x + p.source.width - left) * scale, p.width,
                         p.window.x, p.window.width, p.mirror_x, p.filter, small});
  scratch.rows.build({(p.source.y - top) * scale, (p.source.y + p.source.height - top) * scale, p.height,
                      p.window.y, p.window.height, p.mirror_y, p.filter, small});
}

/// Fills the tables for kernels with `picks`, if the values of every four outputs are close enough together.
inline void add_picks(column_table& t, const axis& columns, resample_scratch& scratch) {
  const int fours = (t.count + 7) / 8 * 2, channels = t.channels;
  scratch.pick_from.resize(static_cast<std::size_t>(fours));
  scratch.picks.resize(static_cast<std::size_t>(fours) * picked_values);
  std::int16_t* to = scratch.picks.data();
  for (int f = 0; f < fours; ++f) {
    const int begin = 4 * f, end = std::min(begin + 4, t.count);
    const std::int32_t from = begin < end ? *std::min_element(t.first + begin, t.first + end) : 0;
    scratch.pick_from[static_cast<std::size_t>(f)] = from;
    for (int x = begin; x < begin + 4; ++x) {
      const int first = x < end ? t.first[x] - from : 0;
      if (x < end && first + columns.count(x) * channels > picked_values) return;
      for (int c = 0; c < 4; ++c) {
        *to++ = static_cast<std::int16_t>(first + c);
        *to++ = static_cast<std::int16_t>(first + c + channels);
      }
    }
  }
  t.pick_from = scratch.pick_from.data();
  t.picks = scratch.picks.data();
}

/// The column axis in the layout that these kernels use. A row starts at its lowest needed pixel.
inline column_table build_column_table(const axis& columns, int channels, const resample_kernels& kernels,
                                       resample_scratch& scratch) {
  const int count = columns.size(), pairs = (columns.most_taps() + 1) / 2;
  const auto padded = static_cast<std::size_t>(count + 7) / 8 * 8;
  scratch.first.assign(padded, 0);
  for (int x = 0; x < count; ++x)
    scratch.first[static_cast<std::size_t>(x)] = (columns.first(x) - columns.low()) * channels;
  column_table out{.count = count, .pairs = pairs, .channels = channels, .first = scratch.first.data()};
  if (kernels.picks) add_picks(out, columns, scratch);
  const int together = out.picks != nullptr ? 4 : 2;  // outputs whose weights are adjacent
  scratch.weights.assign(padded * static_cast<std::size_t>(pairs) * 8, 0);
  for (int x = 0; x < count; ++x) {
    const std::int16_t* const from = columns.weights(x);
    std::int16_t* to =
        scratch.weights.data() + std::ptrdiff_t{x / together} * pairs * together * 8 + (x % together) * 8;
    for (int j = 0; j < columns.count(x); j += 2, to += together * 8) {
      const std::int16_t a = from[j], b = j + 1 < columns.count(x) ? from[j + 1] : std::int16_t{0};
      for (int c = 0; c < 8; c += 2) to[c] = a, to[c + 1] = b;
    }
  }
  out.weights = scratch.weights.data();
  return out;
}

/// Applies the axis tables in `scratch` to rows that start at source pixel `left`.
class row_blender {
 public:
  /// \throws std::bad_alloc
  row_blender(resample_scratch& scratch, int channels, int left, const picture_target& to,
              const resample_kernels& kernels = best_kernels())
      : scratch_(scratch), kernels_(kernels), to_(to), channels_(channels), left_(left) {
    const axis &columns = scratch.columns, &rows = scratch.rows;
    copies_ = columns.copies() && rows.copies();
    if (copies_) {
      const int n = columns.size();
      whole_ = to.plane == 1 && to.step == channels && columns.first(n - 1) - columns.first(0) == n - 1 &&
               (n < 3 || columns.first(1) - columns.first(0) == 1);
      return;
    }
    table_ = build_column_table(columns, channels, kernels, scratch);
    values_ = static_cast<std::size_t>(columns.high() - columns.low()) * static_cast<std::size_t>(channels);
    scratch.row.resize(values_ + static_cast<std::size_t>(8 * table_.pairs) + kernel_slack);
    scratch.quads.resize(static_cast<std::size_t>(columns.size()) * 4 + kernel_slack);
    scratch.taps.resize(static_cast<std::size_t>(rows.most_taps()));
  }

  /// Whether every output row is an unmodified source row in the target's layout.
  bool whole_rows() const noexcept { return copies_ && whole_; }

  /// Writes output row i. source(r) is the start of source row r.
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
  void copy(int i, const std::uint8_t* in) noexcept {
    const axis& columns = scratch_.columns;
    const int n = columns.size();
    std::uint8_t* out = to_.data + i * to_.row;
    in -= std::ptrdiff_t{left_} * channels_;
    if (whole_) {
      std::copy_n(in + std::ptrdiff_t{columns.first(0)} * channels_, std::ptrdiff_t{n} * channels_, out);
      return;
    }
    const std::int32_t* const first = columns.firsts();
    if (channels_ == 1 && to_.step == 1) {
      for (int x = 0; x < n; ++x) out[x] = in[first[x]];
      return;
    }
    for (int x = 0; x < n; ++x, out += to_.step) {
      const std::uint8_t* const pixel = in + std::ptrdiff_t{first[x]} * channels_;
      for (int c = 0; c < channels_; ++c) out[c * to_.plane] = pixel[c];
    }
  }
  void place(const std::uint8_t* quads, std::uint8_t* out) noexcept {
    const auto n = static_cast<std::size_t>(to_.width);
    if (to_.step == 1) {
      std::uint8_t* planes[4];
      for (int c = 0; c < channels_; ++c) planes[c] = out + c * to_.plane;
      return kernels_.split_planes(quads, planes, channels_, n);
    }
    if (to_.plane == 1 && to_.step == 3 && channels_ == 3) return kernels_.pack_triples(quads, out, n);
    if (to_.plane == 1 && to_.step == 4 && channels_ == 4) {
      std::memcpy(out, quads, n * 4);
      return;
    }
    for (std::size_t x = 0; x < n; ++x, out += to_.step) {
      for (int c = 0; c < channels_; ++c) out[c * to_.plane] = quads[4 * x + static_cast<std::size_t>(c)];
    }
  }

  resample_scratch& scratch_;
  const resample_kernels& kernels_;
  picture_target to_;
  column_table table_;
  std::size_t values_ = 0;
  int channels_, left_;
  bool copies_ = false, whole_ = false;
};

/// Applies two axis tables to pixels that are all in memory. `from` starts at source pixel (left, top).
inline void resample(const picture_view& from, int left, int top, resample_scratch& scratch,
                     const picture_target& to, const resample_kernels& kernels = best_kernels()) {
  row_blender blender(scratch, from.channels, left, to, kernels);
  for (int i = 0; i < scratch.rows.size(); ++i) {
    blender.write(i, [&](int r) { return from.data + (r - top) * from.stride; });
  }
}

/// The same for rows as a decoder delivers them. Keeps only the rows that one output row needs, and a few for
/// the decoder to fill at once. If the image is only copied, rows are decoded directly to their destination.
class row_resampler final : public row_sink {
 public:
  /// `scratch` must already hold the plan's tables at full size.
  row_resampler(const plan& p, resample_scratch& scratch, const picture_target& to,
                phase_timer* timer = nullptr) noexcept
      : plan_(p), scratch_(scratch), to_(to), timer_(timer) {}

  void begin(const decoded_rows& what) override {
    int left = what.left;
    next_ = what.top;
    done_ = 0;
    if (what.scale != 1.0) {
      build_axes(plan_, what.scale, what.left, what.top, scratch_);
      left = next_ = 0;
    } else if (scale_ != 1.0) {
      build_axes(plan_, 1.0, 0, 0, scratch_);
    }
    scale_ = what.scale;
    const axis &columns = scratch_.columns, &rows = scratch_.rows;
    if (what.channels != to_.channels || columns.low() < left || columns.high() > left + what.width ||
        rows.low() < next_ || rows.high() > next_ + what.height) {
      throw error(
          "the decoder gives less of the picture than it was asked for; report it to the codec's author");
    }
    end_ = next_ + what.height;
    blender_.emplace(scratch_, what.channels, left, to_);
    const int n = rows.size();
    upwards_ = plan_.mirror_y;
    stride_ = (static_cast<std::size_t>(what.width) * static_cast<std::size_t>(what.channels) + 63) / 64 * 64;
    direct_ = blender_->whole_rows() && columns.size() == what.width && n == what.height && !upwards_ &&
              (n < 2 || rows.first(n - 1) - rows.first(0) == n - 1);
    if (direct_) return;
    scratch_.needed_from.resize(static_cast<std::size_t>(n));
    int from = end_, most = 0;
    for (int e = n; e-- > 0;) scratch_.needed_from[index(e)] = from = std::min(from, rows.first(output(e)));
    for (int e = 0, to = 0; e < n; ++e) {
      to = std::max(to, rows.first(output(e)) + rows.count(output(e)));
      most = std::max(most, to - scratch_.needed_from[index(e)]);
    }
    slots_ = most + static_cast<int>(together);
    scratch_.ring.resize(static_cast<std::size_t>(slots_) * stride_ + unaligned);
  }

  std::span<std::uint8_t* const> room() override {
    int free = std::min(end_ - next_, static_cast<int>(together));
    if (direct_) {
      for (int k = 0; k < free; ++k)
        room_[index(k)] = to_.data + (next_ - scratch_.rows.first(0) + k) * to_.row;
    } else if (done_ == scratch_.rows.size()) {
      free = 0;
    } else {
      free = std::min(free, std::max(scratch_.needed_from[index(done_)], next_) + slots_ - next_);
      for (int k = 0; k < free; ++k) room_[index(k)] = slot(next_ + k);
    }
    return {room_.data(), index(free)};
  }

  void written(int count) override {
    next_ += count;
    if (direct_) {
      done_ += count;
      return;
    }
    if (timer_ != nullptr) timer_->next(slot_phase::resize);
    const axis& rows = scratch_.rows;
    for (; done_ < rows.size(); ++done_) {
      const int i = output(done_);
      if (rows.first(i) + rows.count(i) > next_) break;
      blender_->write(i, [&](int r) { return static_cast<const std::uint8_t*>(slot(r)); });
    }
    if (timer_ != nullptr) timer_->next(slot_phase::decode);
  }

  /// Whether the whole output has been written.
  bool finished() const noexcept { return done_ >= scratch_.rows.size(); }

 private:
  static constexpr std::size_t together = 8;
  /// libjpeg-turbo writes aligned rows around the cache (jdcolext's movntdq), but these rows are read right
  /// away.
  static constexpr std::size_t unaligned = 8;
  static std::size_t index(int i) noexcept { return static_cast<std::size_t>(i); }
  /// The e-th output row, in the order of the source rows.
  int output(int e) const noexcept { return upwards_ ? scratch_.rows.size() - 1 - e : e; }
  std::uint8_t* slot(int row) const noexcept {
    return scratch_.ring.data() + static_cast<std::size_t>(row % slots_) * stride_ + unaligned;
  }

  const plan& plan_;
  resample_scratch& scratch_;
  picture_target to_;
  phase_timer* timer_;  // counts as decode, except in this class
  std::optional<row_blender> blender_;
  std::array<std::uint8_t*, together> room_{};
  std::size_t stride_ = 0;
  double scale_ = 1.0;
  int next_ = 0, end_ = 0;  // source rows
  int done_ = 0;            // output rows
  int slots_ = 0;
  bool direct_ = false, upwards_ = false;
};

}  // namespace wick::detail
