/// \file
/// decode(): encoded bytes become a picture, of which only the header is read here; the pixels come when the
/// batch's slot is known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include <wick/codec/detail/decoders_seen.hpp>
#include <wick/codec/detail/exif.hpp>
#include <wick/codec/detail/stb.hpp>
#include <wick/image/lazy_image.hpp>
#include <wick/sample/context.hpp>
#include <wick/sample/error.hpp>
#include <wick/sample/fingerprint.hpp>
#include <wick/sample/sample.hpp>
#include <wick/sample/shape.hpp>
#include <wick/sample/stage.hpp>

namespace wick {

/// The channels that a decoded picture has. Conversions are those of Pillow's convert(); alpha is dropped,
/// not blended.
enum class color : std::uint8_t {
  unchanged,  ///< those that are stored
  gray,       ///< one channel
  rgb,        ///< three channels
  rgba,       ///< four channels; opaque where none is stored
  /// One channel of the numbers that are stored, for masks: those of a palette's colors (PNG, GIF), or a gray
  /// PNG's levels, of few bits too, as they are. They are never blended: a resize must be `nearest`.
  index,
};

namespace detail {

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
  bool orient =
      false;  ///< turn a JPEG upright as its EXIF orientation says; a quarter turn decodes the whole picture
};

class decode_stage {
 public:
  using stage_kind = on_data;
  using stage_hooks = hooks<hook::fingerprint, hook::note>;
  static constexpr std::string_view name = "decode";

  /// \throws wick::error when max_pixels is less than 1
  explicit decode_stage(const decode_options& options) : options_(options) {
    if (options.max_pixels < 1) {
      throw error("decode: max_pixels = " + std::to_string(options.max_pixels) +
                  " refuses every picture; give at least 1");
    }
    if (options.type != dtype::uint8 && options.type != dtype::int32 && options.type != dtype::float32) {
      throw error("decode: .type = " + std::string(to_string(options.type)) +
                  "; give uint8, int32 or float32");
    }
    if (options.mode == color::index && (options.type == dtype::float32 || options.reduce_16_bits)) {
      throw error(
          "decode: color::index gives numbers of classes, which are neither scaled nor reduced; give .type = "
          "uint8, or int32 for more than 256");
    }
    if (options.reduce_16_bits && options.type != dtype::uint8) {
      throw error("decode: .reduce_16_bits gives uint8, and .type is " +
                  std::string(to_string(options.type)) + "; leave one of them out");
    }
  }

  /// Reads the header. \throws wick::error when the bytes are no picture, break off, or claim too many pixels
  lazy_image operator()(bytes encoded, context&) const {
    const picture_info info = codecs().probe(encoded.span());
    seen_.saw(info);
    check_size(info, options_.max_pixels);
    const pixel_numbers as = numbers(info);
    if (info.decoder->check_complete != nullptr) {
      try {
        info.decoder->check_complete(encoded.span(), info);
      } catch (const error&) {
        if (!options_.allow_truncated || info.format != "JPEG") throw;
        encoded = with_end_of_image(encoded);
      }
    }
    const int turn = options_.orient && info.format == "JPEG" ? detail::exif_orientation(encoded.span()) : 1;
    lazy_image picture(std::move(encoded), info, channels(info), options_.exact, as);
    return turn == 1 ? std::move(picture) : upright(std::move(picture), turn);
  }
  /// Not of max_pixels, allow_truncated and reduce_16_bits: a training may go on with those that let it.
  std::uint64_t fingerprint() const noexcept {
    return fingerprint_hash::of(options_.mode, options_.exact, options_.orient, options_.type);
  }
  /// For the report: what the decoders have to say, who decodes what, and when it could be done faster.
  std::string note() const {
    std::string text = codecs().note();
    const std::string seen = seen_.text();
    if (seen.empty()) return text;
    text += (text.empty() ? "decode: " : "; decode: ") + seen;
    if (seen_.saw("JPEG", detail::stb_codec.name)) {
      text +=
          "; libjpeg-turbo is about three times as fast for JPEGs: install it (apt-get install libjpeg-dev) "
          "and build wick anew, without WICK_JPEG=stb";
    }
    return text;
  }

 private:
  /// stb_image wants an end-of-image marker, wherever it comes.
  static bytes with_end_of_image(const bytes& broken) {
    bytes mended(broken.size() + 2);
    std::memcpy(mended.data(), broken.data(), broken.size());
    mended.data()[broken.size()] = std::byte{0xFF};
    mended.data()[broken.size() + 1] = std::byte{0xD9};
    return mended;
  }
  /// What is stored turned as EXIF numbers it, turned back.
  static lazy_image upright(lazy_image picture, int turn) {
    // NOLINTNEXTLINE(bugprone-use-after-move): what was moved out is replaced
    if (turn > 4) picture.replace_pixels(detail::transposed(std::move(picture).pixels()));
    if (turn == 2 || turn == 3 || turn == 6 || turn == 7) picture.mirror_x();
    if (turn == 3 || turn == 4 || turn == 7 || turn == 8) picture.mirror_y();
    return picture;
  }
  /// What the picture can't be had in is an error, here rather than in wrong numbers.
  pixel_numbers numbers(const picture_info& info) const {
    const bool indexes = options_.mode == color::index;
    const std::string what(info.format);
    if (indexes && !info.palette && (info.channels > 2 || info.format == "JPEG")) {
      throw error(what + " of " + (info.channels <= 2 ? "gray levels" : "colors") +
                  ", which stores no numbers of classes: color::index is for PNGs and GIFs with a palette "
                  "and for gray PNGs; "
                  "convert the masks to such PNGs");
    }
    const bool wide = info.bits == 16 && info.format != "JPEG" && info.decoder->decode_wide != nullptr;
    if (wide && options_.type == dtype::uint8 && !options_.reduce_16_bits) {
      throw error(
          what +
          " of 16 bits a channel, of which decode() would lose 8; write wick::decode({.type = "
          "wick::dtype::int32}) for its values as they are, wick::dtype::float32 for values in [0, 1]" +
          (indexes ? "" : ", or wick::decode({.reduce_16_bits = true}) for the upper 8 bits"));
    }
    return {options_.type, wide && options_.type != dtype::uint8, indexes};
  }
  int channels(const picture_info& info) const noexcept {
    switch (options_.mode) {
      case color::gray:
      case color::index:
        return 1;
      case color::rgb:
        return 3;
      case color::rgba:
        return 4;
      default:
        return info.channels;
    }
  }
  decode_options options_;
  mutable detail::decoders_seen seen_;
};

template <>
struct once_decoded<bytes> {
  using type = lazy_image;
};

}  // namespace detail

/// Bytes → picture: JPEG, PNG, BMP and GIF (its first frame), told apart by their contents. 8 bits a channel,
/// in RGB, unless the options say otherwise: a PNG of 16 bits is an error then, and palettes are looked up.
/// Damage that only decoding shows is thrown where the pixels are made, by batch() or a stage that asks for
/// them.
inline detail::decode_stage decode(const detail::decode_options& options = {}) {
  return detail::decode_stage(options);
}

}  // namespace wick
