// decode(): turns encoded bytes into an image. It reads only the header; the pixels are decoded when the
// slot in the batch is known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <wick/codec/detail/decoders_seen.hpp>
#include <wick/ext/stage.hpp>
#include <wick/image/detail/first_part.hpp>
#include <wick/image/lazy_image.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/pipeline/sample.hpp>
#include <wick/pipeline/shape.hpp>

namespace wick::inline v0_1 {

/// The channels of a decoded image. Conversions match Pillow's convert(), except for `gray` of a color JPEG.
/// Alpha is dropped, not blended.
enum class color : std::uint8_t {
  unchanged,  ///< the stored channels
  /// One channel. For a color JPEG, it's the stored luminance, like Pillow's draft("L"), and the colors are
  /// never computed. Pillow's convert("L") starts from RGB, clipped to 0 to 255: it may differ by 8 levels at
  /// quality 90, and by more at lower quality. `decode() | grayscale()` is within a level of convert("L").
  gray,
  rgb,   ///< three channels
  rgba,  ///< four channels; opaque if no alpha is stored
  /// One channel of the stored numbers, for masks: those of a palette's colors (PNG, GIF), or the levels of a
  /// gray PNG, unscaled even if they have few bits. They are never blended: a resize must be `nearest`.
  index,
};

/// Options of decode().
struct decode_options {
  color mode = color::rgb;  ///< the channels
  /// uint8: 8-bit levels; a 16-bit PNG is an error. int32: unscaled levels, 0 to 65535 for 16 bits, 0 to 255
  /// for 8. float32: levels divided by 65535 or 255. batch() writes int32 and float32. With 16 bits, they
  /// work with crops, resizes, and flips.
  dtype type = dtype::uint8;
  bool reduce_16_bits = false;  ///< take the upper 8 bits of 16-bit PNGs instead of failing
  /// A header with more pixels is an error before memory is allocated; Pillow's limit. Decoding temporarily
  /// takes up to 16 bytes a pixel (24 for a 16-bit PNG), whatever the file holds.
  std::int64_t max_pixels = 178'956'970;
  /// Accept truncated JPEGs; the missing part is gray. Truncated files of other formats remain errors.
  bool allow_truncated = false;
  bool exact = false;  ///< never decode a JPEG at a reduced size, even where that covers the output
  /// Turn a JPEG upright by its EXIF orientation; a quarter turn decodes the whole image. Masks, boxes, and
  /// keypoints aren't turned: they must be those of the upright image, as most annotations are.
  bool orient = false;
  /// false: the image isn't a photo (a map of normals, an infrared image), and color stages, normalize(),
  /// to_float(), and random_erasing() leave it as it is. Geometry moves it with the sample's other parts. A
  /// stage that takes or gives a wick::image makes it an ordinary one.
  bool color_stages = true;
  /// Memory for the places of blocks in JPEGs, so that, from the second epoch on, decoding a crop starts near
  /// it; about 1.5 % of the files' bytes. 0 keeps none. The pixels are the same.
  std::size_t crop_index_bytes = std::size_t{64} << 20;
  /// A file that keeps these places from run to run; empty: none. It is read when the stage is created, and
  /// written when the stage and its copies are destroyed. A damaged file isn't used, and the report says so.
  std::string crop_index_file = {};
};

namespace detail {

class decode_stage {
 public:
  static constexpr stage_traits traits{
      .name = "decode", .has_fingerprint = true, .has_note = true, .in_slot = slot_phase::decode};

  /// \throws wick::error when max_pixels is less than 1
  /// \param called  the stage's name in messages
  explicit decode_stage(const decode_options& options, const char* called = "decode");

  /// Reads the header. \throws wick::error when the bytes aren't an image, are truncated, or claim too many
  /// pixels
  lazy_image operator()(bytes encoded, context&) const;
  template <class Item>
    requires holds_behind<still_bytes, Item>
  auto operator()(Item item, context& c) const {
    return with_first<still_bytes>(std::move(item),
                                   [&](bytes encoded) { return (*this)(std::move(encoded), c); });
  }
  /// Excludes max_pixels, allow_truncated, reduce_16_bits, and the crop index: a training may resume with
  /// other values of these.
  std::uint64_t fingerprint() const noexcept;
  /// For the report: the decoders' notes, and which decoder would be faster.
  std::string note() const;

 private:
  /// Appends an end-of-image marker: stb_image needs one, wherever the data breaks off.
  static bytes with_end_of_image(const bytes& broken);
  /// Undoes the turn of a stored image, numbered as in EXIF.
  static lazy_image upright(lazy_image picture, int turn);
  /// Throws when the image isn't available in the wanted type, instead of giving wrong numbers.
  pixel_numbers numbers(const picture_info& info) const;
  int channels(const picture_info& info) const noexcept;
  decode_options options_;
  const char* called_;
  mutable detail::decoders_seen seen_;
  std::shared_ptr<detail::crop_index> index_;  // shared by copies of the stage
};

template <>
struct once_decoded<bytes> {
  using type = lazy_image;
};

}  // namespace detail

/// Bytes → image: JPEG, PNG, BMP, and GIF (its first frame), recognized by their contents. Unless the
/// options say otherwise, the image is RGB with 8 bits a channel, a 16-bit PNG is an error, and palettes
/// are looked up. decode() takes the first part of a sample that is bytes: its data, or the first of several
/// parts. Damage that only decoding reveals is thrown where the pixels are made, by batch() or a stage that
/// asks for them.
detail::decode_stage decode(const decode_options& options = {});

}  // namespace wick
