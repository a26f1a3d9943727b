// Implements image/read_image.hpp. Included in exactly one file of a program.
#pragma once

#include <string_view>
#include <utility>

#include <wick/codec/detail/signature.hpp>
#include <wick/ext/codec.hpp>
#include <wick/ext/file_range.hpp>
#include <wick/image/lazy_image.hpp>
#include <wick/image/read_image.hpp>
#include <wick/io/read.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/pipeline/sample.hpp>

namespace wick::inline v0_1 {

namespace detail {

inline image decoded_now(bytes encoded, const decode_options& options) {
  if (options.type != dtype::uint8) {
    throw error(".type = " + std::string(to_string(options.type)) +
                ", and an image has levels of 8 bits; leave .type out, or decode in a pipeline");
  }
  const picture_info info = codecs().probe(encoded.span());
  if (info.bits == 16 && info.format == "PNG" && !options.reduce_16_bits) {
    throw error(
        "PNG of 16 bits a channel, and an image has 8; give .reduce_16_bits = true for the upper ones, or "
        "decode in "
        "a pipeline");
  }
  decode_options once = options;
  once.crop_index_bytes = 0;
  once.crop_index_file.clear();
  context nowhere{place{}};
  return decode_stage(once)(std::move(encoded), nowhere).pixels();
}

/// A decoding error without the advice meant for a pipeline's samples.
inline std::string said_of_one(const error& e) { return without_leave_it_out(e.what()); }

}  // namespace detail

image decode_image(std::span<const std::byte> encoded, const decode_options& options) {
  try {
    return detail::decoded_now(bytes(encoded.data(), encoded.size()), options);
  } catch (const error& e) {
    throw error("decode_image: " + detail::said_of_one(e));
  }
}

image read_image(const std::string& path, const decode_options& options) {
  const ext::file_range where{.path = path.c_str()};
  try {
    bytes encoded = detail::file_range_reader().read(where, detail::length_of(where));
    return detail::decoded_now(std::move(encoded), options);
  } catch (const error& e) {
    throw error("read_image: " + detail::printable(path) + ": " + detail::said_of_one(e));
  }
}

}  // namespace wick
