/// \file
/// A picture that is not decoded yet, with all that is to be done to it; carried out in one pass when its
/// slot in the batch is known.
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

/// In what numbers a picture comes out.
struct pixel_numbers {
  dtype type = dtype::uint8;  ///< int32: levels as they are; float32: in [0, 1]
  bool wide = false;          ///< levels of 16 bits, which the decoder must have
  bool indexes = false;       ///< numbers of colors or classes, which have no levels between them
  bool color = true;          ///< color stages change it
};

/// Pixels that several pictures are made of.
struct shared_pixels {
  image levels;
  wide_rows wide;  ///< in place of them when that is what they are
};

/// Encoded bytes (or pixels), a geometry plan, and color operations after it. Whatever order the members are
/// called in, the pixels are those of doing each at once: what does not commute is carried out first. For
/// users it is a wick::lazy_image, which is made of it.
class planned_picture {
 public:
  planned_picture() noexcept = default;
  /// An encoded picture whose header was read; it comes out with `channels` channels. When it
  /// is `exact`, the decoder may not deliver it smaller than it is. `index` may be null.
  planned_picture(bytes encoded, const picture_info& info, int channels, bool exact = false,
                  const pixel_numbers& as = {}, std::shared_ptr<crop_index> index = nullptr) noexcept;
  /// Pixels that exist already: what a user's stage returns flows on through the picture stages.
  planned_picture(image pixels) noexcept;  // NOLINT: implicit on purpose
  /// The same in other numbers.
  planned_picture(image pixels, const pixel_numbers& as) noexcept;
  /// The same of 16 bits.
  planned_picture(wide_rows levels, const pixel_numbers& as) noexcept;

  /// As it comes out.
  int width() const noexcept { return plan_.output_width(); }
  int height() const noexcept { return plan_.output_height(); }
  int channels() const noexcept { return out_channels_; }
  bool empty() const noexcept { return width() == 0; }
  const plan& geometry() const noexcept { return plan_; }
  bool normalized() const noexcept { return normal_.count != 0; }
  int highest_level() const noexcept { return as_.wide ? 65'535 : 255; }
  /// Whether color stages change it: see decode_options::color_stages.
  bool color_stages() const noexcept { return as_.color; }

  /// Cuts `part` out. \throws wick::error when it is not inside the picture
  void crop(const rect& part);
  /// \throws wick::error when a side is or was less than 1, or when numbers of classes would be blended
  void resize(int width, int height, interpolation filter = interpolation::bilinear);
  void mirror_x() noexcept;
  void mirror_y() noexcept;

  /// Turns, shears or tilts the picture. Earlier operations are carried out first. \throws wick::error after
  /// normalize, or when numbers of classes would be blended
  void warp(const detail::warp& by);
  /// Adds a border. Earlier operations are carried out first. \throws wick::error when the border mirrors
  /// more than the picture has
  void pad(const border& around);
  /// One of these.
  void follow(const geometry_step& step);

  /// Adds a color operation. \throws wick::error after normalize
  void apply(const pixel_op& op);
  /// Gray, as `channels` (1 or 3) equal channels. \throws wick::error after normalize
  void make_gray(int channels);
  /// The picture comes out as float32, (x / 255 - mean) / deviation. Color operations must come before.
  /// \throws wick::error when that was said already
  void normalize(const normalization& by);

  /// The picture comes out as float32 in [0, 1]. \throws wick::error when it is to be something else
  void as_float();
  /// Overwrites numbers of a picture that comes out as float32. \throws wick::error when it does not
  void erase(const erased_numbers& what);

  /// Decodes and does all that was asked for. \throws wick::error for damaged data, or when normalized or of
  /// 16 bits: neither has a place in an image
  image pixels() const&;
  image pixels() &&;
  /// The same of 16 bits, row by row. \throws wick::error also when it has 8
  std::vector<std::uint16_t> wide_levels() const;
  image materialize() &&;
  /// Carries out the planned operations now. \throws wick::error for damaged data
  void carry_out();
  /// Another one, which has these pixels in common with this one: nothing of them is copied. \throws
  /// wick::error when there are none before carry_out()
  planned_picture share();
  /// Another one of the same picture, decoded or not. What share() has not made common is copied.
  planned_picture clone() const;
  /// The memory that its bytes or pixels take.
  std::size_t kept_bytes() const noexcept;
  /// Its pixels, for a cache on disk. \throws wick::error before carry_out(), and after normalize
  void save(cache_writer& out) const;
  static planned_picture load(cache_reader& in);
  /// Other pixels in place of these, which come out in the same numbers.
  void replace_pixels(image pixels);

  /// [H, W, C].
  wick::shape extents() const { return {height(), width(), channels()}; }
  dtype type() const noexcept { return normalized() ? dtype::float32 : as_.type; }
  /// Decodes what is needed, resizes, mirrors and colors it straight into the slot. \throws wick::error for
  /// damaged data
  void write_to(slot to) const;

 private:
  void write_pixels_to(slot to) const;
  const image& decoded() const noexcept { return shared_ ? shared_->levels : decoded_; }
  const wide_rows& wide() const noexcept { return shared_ ? shared_->wide : wide_; }
  /// These pixels in place of those, nothing planned.
  void hold(image pixels) noexcept;
  void hold(wide_rows rows) noexcept;
  bool untouched() const noexcept;
  void warp_wide(const geometry_step& step);
  void refuse_wide(const char* what) const;
  void refuse_numbers(const char* what) const;
  void refuse_normalized(const char* what) const;

  /// What is needed of the encoded picture, by the tables of the full size.
  decode_request request(const resample_scratch& scratch) const noexcept;
  /// Geometry and color, in the channels the decoder gives; `rest` as in apply().
  void render_to(const picture_target& to, level_map* rest = nullptr) const;
  void decode_to(const picture_target& to, phase_timer& timer) const;
  void decode_rows(const decode_request& wanted, resample_scratch& scratch, const picture_target& to,
                   phase_timer& timer) const;
  void decode_whole(const decode_request& wanted, resample_scratch& scratch, const picture_target& to,
                    phase_timer& timer) const;
  decoded_picture decode(const rect& part, double scale) const;
  /// The geometry of a picture of 16 bits.
  wide_rows render_wide() const;
  /// All of it but the normalization.
  image render(level_map* rest = nullptr) const;

  bytes encoded_;  // empty when the pixels exist:
  image decoded_;
  wide_rows wide_;                               // in place of decoded_ when that is what they are
  std::shared_ptr<const shared_pixels> shared_;  // in place of both
  picture_info info_;
  std::shared_ptr<crop_index> index_;  // that of decode()
  bool exact_ = false;
  pixel_numbers as_;
  int channels_ = 0;      // while geometry and color are worked on
  int out_channels_ = 0;  // when all is done
  plan plan_;
  std::array<pixel_op, 6> ops_{};
  std::size_t op_count_ = 0;
  bool pointwise_ =
      true;  // all of them; a flag, since g++ 12 takes a look at the array after a move for one at nothing
  normalization normal_;
  std::vector<erased_numbers> erased_;
};

inline void follow(planned_picture& of, const geometry_step& step, frame) { of.follow(step); }

}  // namespace wick::detail
