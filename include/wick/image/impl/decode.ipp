// Implements image/decode.hpp. Included in exactly one file of a program.
#pragma once

#include <cstring>

#include <wick/codec/detail/crop_index.hpp>
#include <wick/codec/detail/exif.hpp>
#include <wick/codec/detail/stb.hpp>
#include <wick/ext/fingerprint.hpp>
#include <wick/image/decode.hpp>
#include <wick/image/impl/crop_index_file.ipp>
#include <wick/pipeline/error.hpp>

namespace wick::inline v0_1::detail {

decode_stage::decode_stage(const decode_options& options, const char* called)
    : options_(options),
      called_(called),
      index_(options.crop_index_bytes == 0
                 ? nullptr
                 : crop_index_file::make(options.crop_index_file, options.crop_index_bytes)) {
  const std::string stage = std::string(called) + ": ";
  if (options.max_pixels < 1) {
    throw error(stage + "max_pixels = " + std::to_string(options.max_pixels) +
                " refuses every picture; give at least 1");
  }
  if (options.type != dtype::uint8 && options.type != dtype::int32 && options.type != dtype::float32) {
    throw error(stage + ".type = " + std::string(to_string(options.type)) +
                (options.mode == color::index ? "; give uint8 or int32" : "; give uint8, int32 or float32"));
  }
  if (options.crop_index_bytes == 0 && !options.crop_index_file.empty()) {
    throw error(stage + "a .crop_index_file, and .crop_index_bytes = 0; leave one of them out");
  }
  if (options.mode == color::index && (options.type == dtype::float32 || options.reduce_16_bits)) {
    throw error(stage +
                "color::index gives numbers of classes, which are neither scaled nor reduced; give .type = "
                "uint8, or int32 for more than 256");
  }
  if (options.reduce_16_bits && options.type != dtype::uint8) {
    throw error("decode: .reduce_16_bits gives uint8, and .type is " + std::string(to_string(options.type)) +
                "; leave one of them out");
  }
}

lazy_image decode_stage::operator()(bytes encoded, context&) const {
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
  lazy_image picture(std::move(encoded), info, channels(info), options_.exact, as,
                     info.format == "JPEG" ? index_ : nullptr);
  return turn == 1 ? std::move(picture) : upright(std::move(picture), turn);
}

std::uint64_t decode_stage::fingerprint() const noexcept {
  const std::uint64_t all =
      fingerprint_hash::of(options_.mode, options_.exact, options_.orient, options_.type);
  return options_.color_stages ? all : fingerprint_hash::of(all, options_.color_stages);
}

std::string decode_stage::note() const {
  std::string text = codecs().note();
  const auto add = [&](const char* what) { text += (text.empty() ? "decode: " : "; ") + std::string(what); };
  if (seen_.saw("JPEG", detail::stb_codec.name)) {
    add("progressive JPEGs, and others that are not baseline, by stb_image: install libjpeg-turbo (apt-get "
        "install libjpeg-dev), about three "
        "times "
        "as fast, and build wick again, without WICK_JPEG=stb; or write them as baseline JPEGs (jpegtran)");
  }
  if (seen_.saw("PNG", "zlib")) {
    add("PNG by zlib: install libdeflate (apt-get install libdeflate-dev), about three times as fast, and "
        "build "
        "wick again, without WICK_PNG=zlib (the single header: with WICK_PNG_LIBDEFLATE)");
  }
  if (const std::string of_index = index_ == nullptr ? "" : index_->note(); !of_index.empty()) {
    add(of_index.c_str());
  }
  return text;
}

bytes decode_stage::with_end_of_image(const bytes& broken) {
  bytes mended(broken.size() + 2);
  std::memcpy(mended.data(), broken.data(), broken.size());
  mended.data()[broken.size()] = std::byte{0xFF};
  mended.data()[broken.size() + 1] = std::byte{0xD9};
  return mended;
}

lazy_image decode_stage::upright(lazy_image picture, int turn) {
  // NOLINTNEXTLINE(bugprone-use-after-move): the moved-out pixels are replaced
  if (turn > 4) picture.replace_pixels(detail::transposed(std::move(picture).pixels()));
  if (turn == 2 || turn == 3 || turn == 6 || turn == 7) picture.mirror_x();
  if (turn == 3 || turn == 4 || turn == 7 || turn == 8) picture.mirror_y();
  return picture;
}

pixel_numbers decode_stage::numbers(const picture_info& info) const {
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
    throw error(what + " of 16 bits a channel, of which " + called_ + "() would lose 8; write wick::" +
                called_ + "({.type = wick::dtype::int32}) for its values as they are" +
                (indexes ? ""
                         : ", wick::dtype::float32 for values in [0, 1], or wick::decode({.reduce_16_bits = "
                           "true}) for the upper 8 bits"));
  }
  return {options_.type, wide && options_.type != dtype::uint8, indexes, options_.color_stages};
}

int decode_stage::channels(const picture_info& info) const noexcept {
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

}  // namespace wick::detail

namespace wick::inline v0_1 {

detail::decode_stage decode(const decode_options& options) { return detail::decode_stage(options); }

}  // namespace wick
