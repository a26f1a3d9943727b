/// \file
/// decode(): encoded bytes become a picture, of which only the header is read here; the pixels come when the
/// batch's slot is known.
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

/// The channels that a decoded image has. Conversions are those of Pillow's convert(), but for `gray` of a
/// color JPEG; alpha is dropped, not blended.
enum class color : std::uint8_t {
  unchanged,  ///< those that are stored
  /// One channel. Of a color JPEG it's the stored luminance, as Pillow's draft("L") gives it, and the colors
  /// are never computed. Pillow's convert("L") goes by RGB, which was clipped to 0 to 255: it may differ by 8
  /// levels at quality 90, and by more below. `decode() | grayscale()` is within a level of that.
  gray,
  rgb,   ///< three channels
  rgba,  ///< four channels; opaque where none is stored
  /// One channel of the numbers that are stored, for masks: those of a palette's colors (PNG, GIF), or a gray
  /// PNG's levels, of few bits too, as they are. They are never blended: a resize must be `nearest`.
  index,
};

/// Options of decode().
struct decode_options {
  color mode = color::rgb;  ///< the channels
  /// uint8: levels of 8 bits, and a PNG of 16 bits is an error. int32: levels as they are, 0 to 65535 of 16
  /// bits, 0 to 255 of
  /// 8. float32: levels divided by 65535 or 255. The two are written by batch(); of 16 bits they go with
  /// crops, resizes and flips.
  dtype type = dtype::uint8;
  bool reduce_16_bits = false;  ///< take the upper 8 bits of PNGs of 16, in place of the error
  std::int64_t max_pixels =
      178'956'970;  ///< more in a header is an error before memory is taken; Pillow's limit. Decoding takes
                    ///< up to 16 bytes a pixel while it lasts (24 for a 16-bit PNG), whatever the file holds
  bool allow_truncated =
      false;           ///< take JPEGs that break off; what is missing is gray. Other formats stay errors.
  bool exact = false;  ///< never decode a JPEG smaller than it is, even where a smaller one covers the output
  /// Turn a JPEG upright as its EXIF orientation says; a quarter turn decodes the whole picture. Masks, boxes
  /// and keypoints are not turned: they must be those of the upright picture, as most annotations are.
  bool orient = false;
  /// false: the image isn't a photo (a map of normals, an infrared image), and color stages, normalize(),
  /// to_float(), and random_erasing() leave it as it is. Geometry moves it with the sample's other parts. A
  /// stage that takes or gives a wick::image makes it an ordinary one.
  bool color_stages = true;
  /// Memory in which the places of blocks in JPEGs are kept, so that from the second epoch on the decoding of
  /// a crop starts near it; about 1.5 % of the files' bytes. With 0 none is kept. The pixels are the same.
  std::size_t crop_index_bytes = std::size_t{64} << 20;
  /// A file in which these places are kept from run to run; empty: none. It is read when the stage is made,
  /// and written when the stage and its copies are gone. A file that is damaged is not used, and the report
  /// says so.
  std::string crop_index_file = {};
};

namespace detail {

class decode_stage {
 public:
  static constexpr stage_traits traits{
      .name = "decode", .has_fingerprint = true, .has_note = true, .in_slot = slot_phase::decode};

  /// \throws wick::error when max_pixels is less than 1
  /// \param called  the stage that messages name
  explicit decode_stage(const decode_options& options, const char* called = "decode");

  /// Reads the header. \throws wick::error when the bytes are no picture, break off, or claim too many pixels
  lazy_image operator()(bytes encoded, context&) const;
  template <class Item>
    requires holds_behind<still_bytes, Item>
  auto operator()(Item item, context& c) const {
    return with_first<still_bytes>(std::move(item),
                                   [&](bytes encoded) { return (*this)(std::move(encoded), c); });
  }
  /// Without max_pixels, allow_truncated, reduce_16_bits and the crop index: a training may resume
  /// with other values of these.
  std::uint64_t fingerprint() const noexcept;
  /// For the report: what the decoders have to say, and which decoder would be faster.
  std::string note() const;

 private:
  /// stb_image wants an end-of-image marker, wherever it comes.
  static bytes with_end_of_image(const bytes& broken);
  /// What is stored turned as EXIF numbers it, turned back.
  static lazy_image upright(lazy_image picture, int turn);
  /// What the picture can't be had in is an error, here rather than in wrong numbers.
  pixel_numbers numbers(const picture_info& info) const;
  int channels(const picture_info& info) const noexcept;
  decode_options options_;
  const char* called_;
  mutable detail::decoders_seen seen_;
  std::shared_ptr<detail::crop_index> index_;  // copies of the stage have it in common
};

template <>
struct once_decoded<bytes> {
  using type = lazy_image;
};

}  // namespace detail

/// Bytes → picture: JPEG, PNG, BMP and GIF (its first frame), recognized by their contents. 8 bits a channel,
/// in RGB, unless the options say otherwise: a PNG of 16 bits is an error then, and palettes are looked up.
/// It takes the first part of a sample that is bytes: its data, where there are several parts the first.
/// Damage that only decoding shows is thrown where the pixels are made, by batch() or a stage that asks for
/// them.
detail::decode_stage decode(const decode_options& options = {});

}  // namespace wick
