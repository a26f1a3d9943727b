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

#include <wick/flow/context.hpp>
#include <wick/flow/error.hpp>
#include <wick/flow/fingerprint.hpp>
#include <wick/flow/sample.hpp>
#include <wick/flow/stage.hpp>
#include <wick/image/detail/decoders_seen.hpp>
#include <wick/image/detail/exif.hpp>
#include <wick/image/lazy_image.hpp>
#include <wick/image/stb.hpp>

namespace wick {

/// The channels that a decoded picture has. Conversions are those of Pillow's convert(); alpha is dropped,
/// not blended.
enum class color : std::uint8_t { unchanged, grey, rgb, rgba };

struct decode_options {
  color mode = color::rgb;
  std::int64_t max_pixels =
      178'956'970;  ///< more in a header is an error before memory is taken; Pillow's limit. Decoding takes
                    ///< up to 16 bytes a pixel while it lasts (24 for a 16-bit PNG), whatever the file holds
  bool allow_truncated =
      false;           ///< take JPEGs that break off; what is missing is grey. Other formats stay errors.
  bool exact = false;  ///< never decode a JPEG smaller than it is, even where a smaller one covers the output
  bool orient =
      false;  ///< turn a JPEG upright as its EXIF orientation says; a quarter turn decodes the whole picture
};

class decode_stage {
 public:
  using stage_kind = on_data;
  static constexpr std::string_view name = "decode";

  /// \throws wick::error when max_pixels is less than 1
  explicit decode_stage(const decode_options& options) : options_(options) {
    if (options.max_pixels < 1) {
      throw error("decode: max_pixels = " + std::to_string(options.max_pixels) +
                  " refuses every picture; give at least 1");
    }
  }

  /// Reads the header. \throws wick::error when the bytes are no picture, break off, or claim too many pixels
  lazy_image operator()(bytes encoded, context&) const {
    const picture_info info = codecs().probe(encoded.span());
    seen_.saw(info);
    check_size(info, options_.max_pixels);
    if (info.decoder->check_complete != nullptr) {
      try {
        info.decoder->check_complete(encoded.span(), info);
      } catch (const error&) {
        if (!options_.allow_truncated || info.format != "JPEG") throw;
        encoded = with_end_of_image(encoded);
      }
    }
    const int turn = options_.orient && info.format == "JPEG" ? detail::exif_orientation(encoded.span()) : 1;
    lazy_image picture(std::move(encoded), info, channels(info), options_.exact);
    return turn == 1 ? std::move(picture) : upright(std::move(picture), turn);
  }
  /// Not of max_pixels and allow_truncated: a training may go on with those that let it.
  std::uint64_t fingerprint() const noexcept {
    return fingerprint_of_parameters(options_.mode, options_.exact, options_.orient);
  }
  /// For the report: what the decoders have to say, who decodes what, and when it could be done faster.
  std::string note() const {
    std::string text = codecs().note();
    const std::string seen = seen_.text();
    if (seen.empty()) return text;
    text += (text.empty() ? "decode: " : "; decode: ") + seen;
    if (seen_.saw("JPEG", stb_codec.name)) {
      text += "; libjpeg-turbo is about three times as fast for JPEGs: link wick::turbojpeg, and call "
              "wick::codecs().add(wick::turbojpeg_codec) before the loader is made";
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
    if (turn > 4) picture = detail::transposed(std::move(picture).pixels());
    if (turn == 2 || turn == 3 || turn == 6 || turn == 7) picture.mirror_x();
    if (turn == 3 || turn == 4 || turn == 7 || turn == 8) picture.mirror_y();
    return picture;
  }
  int channels(const picture_info& info) const noexcept {
    switch (options_.mode) {
      case color::grey:
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
static_assert(stage_of<decode_stage, on_data>);

/// Bytes → picture: JPEG, PNG, BMP and GIF (its first frame), told apart by their contents, 8 bits a channel.
/// Damage that only decoding shows is thrown where the pixels are made, by batch() or a stage that asks for
/// them.
inline decode_stage decode(const decode_options& options = {}) { return decode_stage(options); }

}  // namespace wick
