// wick's own decoder of baseline JPEGs: decodes only the wanted rectangle, at the cheapest scale that covers
// it, row by row. Only for jpeg.ipp.
#pragma once

#include <memory>

#include <wick/codec/detail/crop_index.hpp>
#include <wick/codec/detail/jpeg_frame.hpp>
#include <wick/codec/detail/jpeg_walk.hpp>
#include <wick/codec/impl/jpeg_portable_kernels.ipp>
#include <wick/ext/codec.hpp>
#include <wick/ext/row_sink.hpp>
#include <wick/pixels/geometry.hpp>

namespace wick::inline v0_1::detail {

/// One thread's decoder and the memory it keeps: two rows of MCUs, and some rows of samples.
///
/// The pixels are bit-identical to libjpeg-turbo's: its accurate inverse DCT, smooth ("fancy") upsampling of
/// chroma, and scales of 1/2, 1/4, and 1/8 by smaller transforms. It also decodes the margin around the
/// wanted rectangle that smooth upsampling reads, so that a part looks as it does in the whole image.
class jpeg_decoder {
 public:
  explicit jpeg_decoder(const jpeg_kernels& kernels = best_jpeg_kernels()) noexcept : kernels_(kernels) {}

  /// False when the data doesn't conform to the standard: another decoder must handle it. The sink's begin()
  /// may have been called by then. \throws wrong_jpeg_place, std::bad_alloc, and exceptions of the sink
  bool decode(const jpeg_frame& frame, std::span<const std::byte> encoded, const decode_request& request,
              row_sink& sink) {
    frame_ = &frame;
    if (!begin_scan()) return false;
    choose_scale(request.scale);
    choose_part(request);
    const bool cuts = part_.y > 0 || part_.width < output_width_;
    auto* const index = static_cast<crop_index*>(request.notes);
    if (index == nullptr || !cuts || !index->may_have(encoded)) return read_rows(request, sink);
    const std::uint64_t key = crop_index::key_of(encoded);
    try {
      index->begin(key, walk_);
      if (!read_rows(request, sink)) return false;
      index->end(key, walk_);
      return true;
    } catch (const wrong_jpeg_place&) {
      index->drop(key);
      throw;
    }
  }

 private:
  static constexpr std::size_t most_together = 16;  // MCUs whose coefficients are in memory at a time

  /// A component's samples: two rows of MCUs, limited to the decoded columns.
  struct plane {
    std::size_t across = 1, down = 1;   // blocks in an MCU
    std::size_t side = 8;               // samples per side of a block
    std::size_t width = 0, height = 0;  // samples of the whole picture
    std::size_t stride = 0;
    bool wanted = true;
    jpeg_kernels::inverse_dct transform = nullptr;
    std::vector<std::uint8_t> bytes = {};
    std::array<std::int16_t*, 2> blocks = {};  // for each row of blocks in an MCU

    std::size_t rows() const noexcept { return down * side; }
    /// Row y of the whole image, starting at the first decoded MCU.
    std::uint8_t* row(std::size_t y) noexcept {
      return bytes.data() + jpeg_slack + y % (2 * rows()) * stride;
    }
  };

  bool begin_scan() {
    const jpeg_frame& f = *frame_;
    blocks_ = 0;
    for (std::size_t c = 0; c < f.components; ++c) {
      jpeg_huffman* const dc = table(0, c, f.component_of[c].dc);
      jpeg_huffman* const ac = table(1, c, f.component_of[c].ac);
      if (dc == nullptr || ac == nullptr) return false;
      const std::uint32_t of_component = c == 0 ? f.across * f.down : 1;
      for (std::uint32_t i = 0; i < of_component; ++i)
        scan_blocks_[blocks_++] = {dc, ac, static_cast<unsigned>(c), true};
    }
    columns_ = (f.width + 8 * f.across - 1) / (8 * f.across);
    rows_ = (f.height + 8 * f.down - 1) / (8 * f.down);
    return true;
  }
  jpeg_huffman* table(std::size_t kind, std::size_t component, const jpeg_frame::huffman_table& from) {
    std::unique_ptr<jpeg_huffman>& made = tables_[kind][component];
    if (made == nullptr) made = std::make_unique<jpeg_huffman>();
    return made->build(from.counts, from.values, kind == 1) ? made.get() : nullptr;
  }

  /// The sizes with fast code; the sizes between are often slower than the next larger one. Chroma at half
  /// resolution both ways reaches the image's size through a larger transform.
  void choose_scale(double least) noexcept {
    const jpeg_frame& f = *frame_;
    std::size_t side = 8;
    while (side > 1 && static_cast<double>(side) >= least * 16) side /= 2;
    scale_ = side;
    output_width_ = static_cast<int>((f.width * side + 7) / 8);
    output_height_ = static_cast<int>((f.height * side + 7) / 8);
    for (std::size_t c = 0; c < f.components; ++c) {
      plane& p = planes_[c];
      p.across = c == 0 ? f.across : 1;
      p.down = c == 0 ? f.down : 1;
      p.side = c != 0 && f.across == 2 && f.down == 2 && side < 8 ? 2 * side : side;
      p.width = (f.width * p.across * p.side + 8 * f.across - 1) / (8 * f.across);
      p.height = (f.height * p.down * p.side + 8 * f.down - 1) / (8 * f.down);
      p.transform = p.side == 8   ? kernels_.to_8
                    : p.side == 4 ? kernels_.to_4
                    : p.side == 2 ? kernels_.to_2
                                  : &to_1;
    }
    const plane& color = planes_[f.components - 1];
    wider_ = planes_[0].across * side / (color.across * color.side);
    higher_ = planes_[0].down * side / (color.down * color.side);
    smooth_ = side > 1 && (wider_ == 1 || color.width > 2);
  }

  void choose_part(const decode_request& request) {
    const double s = static_cast<double>(scale_) / 8.0;
    const rect& wanted = request.wanted;
    const bool gray = request.channels <= 2;
    const int margin_x = !gray && wider_ == 2 ? 1 : 0, margin_y = !gray && higher_ == 2 ? 1 : 0;
    const int left = std::clamp(static_cast<int>(wanted.x * s), 0, output_width_ - 1),
              top = std::clamp(static_cast<int>(wanted.y * s), 0, output_height_ - 1);
    const int right = std::clamp(ceiling((wanted.x + wanted.width) * s), left + 1, output_width_),
              bottom = std::clamp(ceiling((wanted.y + wanted.height) * s), top + 1, output_height_);
    part_ = {left, top, right - left, bottom - top};
    const std::size_t across = frame_->across * scale_, down = frame_->down * scale_;  // in an MCU
    first_column_ = static_cast<std::size_t>(std::max(0, left - margin_x)) / across;
    last_column_ = static_cast<std::size_t>(std::min(output_width_ - 1, right - 1 + margin_x)) / across;
    first_row_ = static_cast<std::size_t>(std::max(0, top - margin_y)) / down;
    last_row_ = static_cast<std::size_t>(std::min(output_height_ - 1, bottom - 1 + margin_y)) / down;
    const std::size_t columns = last_column_ - first_column_ + 1;
    std::size_t coefficients = 0;
    for (std::size_t c = 0; c < frame_->components; ++c) {
      plane& p = planes_[c];
      p.wanted = c == 0 || !gray;
      p.stride = columns * p.across * p.side + 2 * jpeg_slack;
      if (const std::size_t size = jpeg_slack + 2 * p.rows() * p.stride; p.bytes.size() < size)
        p.bytes.resize(size);
      coefficients += p.across * p.down * most_together * 64;
    }
    coefficients_.resize(coefficients);
    std::int16_t* next = coefficients_.data();
    for (std::size_t c = 0, i = 0; c < frame_->components; ++c) {
      plane& p = planes_[c];
      for (std::size_t v = 0; v < p.down; ++v, next += p.across * most_together * 64) {
        p.blocks[v] = next;
        for (std::size_t h = 0; h < p.across; ++h) first_[i++] = {next + 64 * h, 64 * p.across};
      }
    }
    for (std::size_t i = 0; i < blocks_; ++i) {
      const plane& p = planes_[scan_blocks_[i].component];
      scan_blocks_[i].coefficients = p.wanted && p.side > 1;
    }
    walk_.begin(frame_->scan, {scan_blocks_.data(), blocks_}, frame_->restart_interval, columns_, rows_);
    if (line_.size() < 2 * row_bytes()) line_.resize(2 * row_bytes());
  }
  static int ceiling(double v) noexcept {
    const int whole = static_cast<int>(v);
    return whole < v ? whole + 1 : whole;
  }
  /// The size of an upsampled chroma row: two samples more than the part, plus the kernels' slack.
  std::size_t row_bytes() const noexcept {
    return static_cast<std::size_t>(part_.width) + 2 + 2 * jpeg_slack;
  }

  bool read_rows(const decode_request& request, row_sink& sink) {
    const int to_source = static_cast<int>(8 / scale_);
    sink.begin({part_.width, part_.height, request.channels, part_.x * to_source, part_.y * to_source,
                static_cast<double>(scale_) / 8.0});
    const int bottom = part_.y + part_.height;
    int y = part_.y;
    for (std::size_t row = 0; row <= last_row_ && y < bottom; ++row) {
      if (row < first_row_) {
        if (!step_over(columns_)) return false;
        continue;
      }
      if (!read_row_of_mcus(row)) return false;
      // With smooth upsampling, the last row of pixels depends on the next row of MCUs, too.
      int ready = static_cast<int>((row + 1) * frame_->down * scale_);
      if (row + 1 == rows_)
        ready = output_height_;
      else if (request.channels > 2 && higher_ == 2)
        --ready;
      while (y < std::min(ready, bottom)) {
        const std::span<std::uint8_t* const> room = sink.room();
        if (room.empty()) return true;
        const int count = std::min(static_cast<int>(room.size()), std::min(ready, bottom) - y);
        for (int i = 0; i < count; ++i)
          write_row(static_cast<std::size_t>(y) + static_cast<std::size_t>(i),
                    room[static_cast<std::size_t>(i)], request.channels);
        sink.written(count);
        y += count;
      }
    }
    return true;
  }

  bool step_over(std::size_t mcus) { return is_read(walk_.skip(mcus)); }
  static bool is_read(jpeg_walk::outcome o) {
    if (o == jpeg_walk::outcome::misplaced) throw wrong_jpeg_place();
    return o == jpeg_walk::outcome::good;
  }

  bool read_row_of_mcus(std::size_t row) {
    if (!step_over(first_column_)) return false;
    for (std::size_t from = first_column_; from <= last_column_; from += most_together) {
      const std::size_t count = std::min(most_together, last_column_ + 1 - from);
      clear(count);
      for (std::size_t k = 0; k < count; ++k) {
        if (!is_read(walk_.next(blocks_of(k)))) return false;
      }
      for (std::size_t c = 0; c < frame_->components; ++c)
        transform(planes_[c], c, row, from - first_column_, count);
    }
    for (std::size_t c = 1; c < frame_->components; ++c) extend(planes_[c], row);
    // Read to the end of the row, to verify the index's place before the row is shown.
    return step_over(columns_ - 1 - last_column_);
  }
  /// Clears the coefficients of `mcus` MCUs, except in planes with only DC coefficients, which are always
  /// written.
  void clear(std::size_t mcus) noexcept {
    for (std::size_t c = 0; c < frame_->components; ++c) {
      const plane& p = planes_[c];
      for (std::size_t v = 0; v < p.down && p.wanted && p.side > 1; ++v)
        std::memset(p.blocks[v], 0, mcus * p.across * 64 * sizeof(std::int16_t));
    }
  }
  /// The destinations of the k-th MCU's blocks.
  std::int16_t (*const* blocks_of(std::size_t k) noexcept)[64] {
    for (std::size_t i = 0; i < blocks_; ++i)
      pointers_[i] = reinterpret_cast<std::int16_t(*)[64]>(first_[i].at + k * first_[i].apart);
    return pointers_.data();
  }
  void transform(plane& p, std::size_t component, std::size_t row, std::size_t mcu,
                 std::size_t count) noexcept {
    if (!p.wanted) return;
    const std::int16_t* const table = frame_->tables[frame_->component_of[component].table].data();
    for (std::size_t v = 0; v < p.down; ++v) {
      std::uint8_t* const out = p.row((row * p.down + v) * p.side) + mcu * p.across * p.side;
      p.transform(p.blocks[v], count * p.across, table, out, p.stride);
    }
  }
  /// Smooth upsampling repeats the border sample; the encoder's samples beyond it are arbitrary.
  void extend(plane& p, std::size_t row) noexcept {
    if (!p.wanted || wider_ != 2) return;
    const std::size_t start = first_column_ * p.side;
    for (std::size_t y = 0; y < p.rows(); ++y) {
      std::uint8_t* const at = p.row(row * p.rows() + y);
      if (start == 0) at[-1] = at[0];
      if (last_column_ + 1 == columns_) at[p.width - start] = at[p.width - start - 1];
    }
  }

  /// Writes row y of the scaled image.
  void write_row(std::size_t y, std::uint8_t* out, int channels) {
    const auto left = static_cast<std::size_t>(part_.x), n = static_cast<std::size_t>(part_.width);
    const std::uint8_t* const gray = planes_[0].row(y) + left - first_column_ * planes_[0].across * scale_;
    if (channels == 1) {
      std::memcpy(out, gray, n);
    } else if (channels == 2) {
      for (std::size_t x = 0; x < n; ++x) out[2 * x] = gray[x], out[2 * x + 1] = 255;
    } else if (frame_->components == 1) {
      for (std::size_t x = 0; x < n; ++x, out += channels) {
        out[0] = out[1] = out[2] = gray[x];
        if (channels == 4) out[3] = 255;
      }
    } else {
      std::uint8_t* const wide = line_.data() + jpeg_slack;
      const std::uint8_t* const blue = color_row(planes_[1], y, wide);
      const std::uint8_t* const red = color_row(planes_[2], y, wide + row_bytes());
      if (channels == 3) return kernels_.to_rgb(gray, blue, red, out, n);
      rgb_.resize(3 * n);
      kernels_.to_rgb(gray, blue, red, rgb_.data(), n);
      for (std::size_t x = 0; x < n; ++x, out += 4) {
        std::memcpy(out, rgb_.data() + 3 * x, 3);
        out[3] = 255;
      }
    }
  }
  /// A component's chroma samples for row y, one per pixel: in its plane, or in `to`.
  const std::uint8_t* color_row(plane& p, std::size_t y, std::uint8_t* to) noexcept {
    const auto left = static_cast<std::size_t>(part_.x), n = static_cast<std::size_t>(part_.width);
    const std::size_t start = first_column_ * p.side, from = left / wider_;
    const std::size_t middle = y / higher_;
    // The other row that contributes: the one above for an upper row of pixels, the one below for a lower
    // one.
    const std::size_t other =
        y % 2 == 0 ? std::max<std::size_t>(middle, 1) - 1 : std::min(middle + 1, p.height - 1);
    const std::uint8_t *const near = p.row(middle) + from - start, *const far = p.row(other) + from - start;
    const std::size_t count = (left + n - 1) / wider_ + 1 - from;
    if (wider_ == 1) {
      if (higher_ == 1 || !smooth_) return near;
      const int half = y % 2 == 0 ? 1 : 2;
      for (std::size_t x = 0; x < n; ++x)
        to[x] = static_cast<std::uint8_t>((3 * near[x] + far[x] + half) >> 2);
      return to;
    }
    if (!smooth_) {
      for (std::size_t x = 0; x < count; ++x) to[2 * x] = to[2 * x + 1] = near[x];
    } else if (higher_ == 1) {
      kernels_.widen(near, to, count);
    } else {
      kernels_.widen_between(near, far, to, count);
    }
    return to + left % 2;
  }

  const jpeg_kernels& kernels_;
  const jpeg_frame* frame_ = nullptr;
  jpeg_walk walk_;
  std::array<std::array<std::unique_ptr<jpeg_huffman>, 3>, 2> tables_;
  std::array<jpeg_scan::block, jpeg_scan::most_blocks> scan_blocks_{};
  /// A block of the first MCU, and its distance to the same block of the next MCU.
  struct block_place {
    std::int16_t* at = nullptr;
    std::size_t apart = 0;
  };
  std::array<block_place, jpeg_scan::most_blocks> first_{};
  std::array<std::int16_t (*)[64], jpeg_scan::most_blocks> pointers_{};
  std::array<plane, 3> planes_;
  std::vector<std::int16_t> coefficients_;
  std::vector<std::uint8_t> line_, rgb_;
  std::size_t blocks_ = 0;                          // in an MCU
  std::size_t columns_ = 0, rows_ = 0;              // in MCUs
  std::size_t scale_ = 8, wider_ = 1, higher_ = 1;  // pixels per 8; pixels per chroma sample
  std::size_t first_column_ = 0, last_column_ = 0, first_row_ = 0, last_row_ = 0;  // decoded MCUs
  rect part_{};                                                                    // in the scaled image
  int output_width_ = 0, output_height_ = 0;
  bool smooth_ = true;
};

}  // namespace wick::detail
