// An image that isn't decoded yet, with all of its pending operations; they run in one pass when its slot in
// the batch is known.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <wick/ext/cache_bytes.hpp>
#include <wick/ext/codec.hpp>
#include <wick/image/detail/steps.hpp>
#include <wick/pipeline/detail/phases.hpp>
#include <wick/pipeline/sample.hpp>
#include <wick/pipeline/shape.hpp>
#include <wick/pixels/detail/pixel_ops.hpp>
#include <wick/pixels/detail/warp.hpp>
#include <wick/pixels/geometry.hpp>
#include <wick/pixels/image.hpp>
#include <wick/pixels/wide_rows.hpp>

namespace wick::inline v0_1::detail {

class crop_index;
struct resample_scratch;

/// The number format of an image's output.
struct pixel_numbers {
  dtype type = dtype::uint8;  ///< int32: levels as they are; float32: in [0, 1]
  bool wide = false;          ///< 16-bit levels, which the decoder must provide
  bool indexes = false;       ///< numbers of colors or classes, which can't be blended
  bool color = true;          ///< color stages change it
};

/// Pixels that several images share.
struct shared_pixels {
  image levels;
  wide_rows wide;  ///< used instead of `levels` for 16 bits
};

/// Encoded bytes (or pixels), a geometry plan, and color operations after it. The result is the same as if
/// each call took effect immediately: operations that don't commute are carried out first. Users see it as a
/// wick::lazy_image, which wraps it.
class planned_picture {
 public:
  planned_picture() noexcept = default;
  /// An encoded image whose header was read; the output has `channels` channels. With `exact`, the decoder
  /// may not scale it down. `index` may be null.
  planned_picture(bytes encoded, const picture_info& info, int channels, bool exact = false,
                  const pixel_numbers& as = {}, std::shared_ptr<crop_index> index = nullptr) noexcept;
  /// Existing pixels: the result of a user's stage goes through the image stages, too.
  planned_picture(image pixels) noexcept;  // NOLINT: implicit on purpose
  /// The same in another number format.
  planned_picture(image pixels, const pixel_numbers& as) noexcept;
  /// The same for 16 bits.
  planned_picture(wide_rows levels, const pixel_numbers& as) noexcept;

  /// The size and channels of the output.
  int width() const noexcept { return plan_.output_width(); }
  int height() const noexcept { return plan_.output_height(); }
  int channels() const noexcept { return out_channels_; }
  bool empty() const noexcept { return width() == 0; }
  const plan& geometry() const noexcept { return plan_; }
  bool normalized() const noexcept { return normal_.count != 0; }
  int highest_level() const noexcept { return as_.wide ? 65'535 : 255; }
  /// Whether color stages change it: see decode_options::color_stages.
  bool color_stages() const noexcept { return as_.color; }

  /// Cuts out `part`. \throws wick::error when it isn't inside the image
  void crop(const rect& part);
  /// \throws wick::error when a side is or was less than 1, or when class numbers would be blended
  void resize(int width, int height, interpolation filter = interpolation::bilinear);
  void mirror_x() noexcept;
  void mirror_y() noexcept;

  /// Rotates, shears, or tilts the image. Carries out earlier operations first. \throws wick::error after
  /// normalize, or when class numbers would be blended
  void warp(const detail::warp& by);
  /// Adds a border. Carries out earlier operations first. \throws wick::error when the border would mirror
  /// more than the image has
  void pad(const border& around);
  /// Applies one of the above.
  void follow(const geometry_step& step);

  /// Adds a color operation. \throws wick::error after normalize
  void apply(const pixel_op& op);
  /// Makes the image gray, with `channels` (1 or 3) equal channels. \throws wick::error after normalize
  void make_gray(int channels);
  /// Makes the output float32, (x / 255 - mean) / deviation. Color operations must come before. \throws
  /// wick::error when already normalized
  void normalize(const normalization& by);

  /// Makes the output float32 in [0, 1]. \throws wick::error when another format is set
  void as_float();
  /// Overwrites values of a float32 output. \throws wick::error when the output isn't float32
  void erase(const erased_numbers& what);

  /// Decodes, and carries out all operations. \throws wick::error for damaged data, or when normalized or
  /// 16-bit: an image can't hold either
  image pixels() const&;
  image pixels() &&;
  /// The same for 16 bits, row by row. \throws wick::error also when it has 8
  std::vector<std::uint16_t> wide_levels() const;
  image materialize() &&;
  /// Carries out the planned operations now. \throws wick::error for damaged data
  void carry_out();
  /// Another one that shares these pixels without copying. \throws wick::error when there are no pixels yet;
  /// call carry_out() first
  planned_picture share();
  /// A copy of the image, decoded or not. Copies pixels, unless share() made them shared.
  planned_picture clone() const;
  /// The memory of its bytes or pixels.
  std::size_t kept_bytes() const noexcept;
  /// Writes its pixels to a cache on disk. \throws wick::error before carry_out(), and after normalize
  void save(cache_writer& out) const;
  static planned_picture load(cache_reader& in);
  /// Replaces the pixels; the number format stays.
  void replace_pixels(image pixels);

  /// [H, W, C].
  wick::shape extents() const { return {height(), width(), channels()}; }
  dtype type() const noexcept { return normalized() ? dtype::float32 : as_.type; }
  /// Decodes what it needs, then resizes, mirrors, and colors it directly into the slot. \throws wick::error
  /// for damaged data
  void write_to(slot to) const;

 private:
  void write_pixels_to(slot to) const;
  const image& decoded() const noexcept { return shared_ ? shared_->levels : decoded_; }
  const wide_rows& wide() const noexcept { return shared_ ? shared_->wide : wide_; }
  /// Replaces the pixels, with nothing pending.
  void hold(image pixels) noexcept;
  void hold(wide_rows rows) noexcept;
  bool untouched() const noexcept;
  void warp_wide(const geometry_step& step);
  void refuse_wide(const char* what) const;
  void refuse_numbers(const char* what) const;
  void refuse_normalized(const char* what) const;

  /// The part of the encoded image that is needed, by the full-size tables.
  decode_request request(const resample_scratch& scratch) const noexcept;
  /// Geometry and color, in the decoder's channels; `rest` as in apply().
  void render_to(const picture_target& to, level_map* rest = nullptr) const;
  void decode_to(const picture_target& to, phase_timer& timer) const;
  void decode_rows(const decode_request& wanted, resample_scratch& scratch, const picture_target& to,
                   phase_timer& timer) const;
  void decode_whole(const decode_request& wanted, resample_scratch& scratch, const picture_target& to,
                    phase_timer& timer) const;
  decoded_picture decode(const rect& part, double scale) const;
  /// The geometry of a 16-bit image.
  wide_rows render_wide() const;
  /// Everything except the normalization.
  image render(level_map* rest = nullptr) const;

  bytes encoded_;  // empty if the pixels exist:
  image decoded_;
  wide_rows wide_;                               // used instead of decoded_ for 16 bits
  std::shared_ptr<const shared_pixels> shared_;  // used instead of both
  picture_info info_;
  std::shared_ptr<crop_index> index_;  // that of decode()
  bool exact_ = false;
  pixel_numbers as_;
  int channels_ = 0;      // during geometry and color operations
  int out_channels_ = 0;  // in the output
  plan plan_;
  std::array<pixel_op, 6> ops_{};
  std::size_t op_count_ = 0;
  bool pointwise_ =
      true;  // all ops_ are; a flag, since g++ 12 takes a read of the array after a move for one through null
  normalization normal_;
  std::vector<erased_numbers> erased_;
};

inline void follow(planned_picture& of, const geometry_step& step, frame) { of.follow(step); }

}  // namespace wick::detail
