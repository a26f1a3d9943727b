// The built-in decoder for JPEG, PNG, BMP, and the first frame of a GIF. Its code, and stb_image's, is
// compiled once, by CMake or in the one file that defines WICK_IMPLEMENTATION; none of it is included here.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <span>
#include <string>
#include <string_view>

#include <wick/codec/detail/bmp_gif_header.hpp>
#include <wick/codec/detail/decode_limits.hpp>
#include <wick/codec/detail/jpeg_header.hpp>
#include <wick/codec/detail/jpeg_layout.hpp>
#include <wick/codec/detail/palette.hpp>
#include <wick/codec/detail/plain_bmp.hpp>
#include <wick/codec/detail/png_header.hpp>
#include <wick/ext/codec.hpp>

namespace wick::inline v0_1::detail {

// Defined in codec/impl/stb_image.ipp.

/// Decodes to pixels from allocate_block, `channels` a pixel. Null on failure, with stb's reason in `why`.
/// With `cleared`, all of stb's memory starts as zeros, so that pixels it skips are the same every time. No
/// block exceeds `limit`.
std::uint8_t* stb_load(const std::byte* encoded, int size, int channels, int& width, int& height,
                       const char*& why, stb_limit& limit, bool cleared = false) noexcept;
/// The same for a JPEG whose color model is `colors`, with libjpeg-turbo's upsampling.
std::uint8_t* stb_load_jpeg(const std::byte* encoded, int size, jpeg_color_model colors, int channels,
                            int& width, int& height, const char*& why, stb_limit& limit,
                            bool cleared) noexcept;

// Defined in codec/impl/png.ipp and gif.ipp, which are compiled with stb_image.

/// The rows of `part`, in full width. \throws wick::error when they are damaged
image decode_png(std::span<const std::byte> encoded, const rect& part, int channels, bool indexes);
wide_rows decode_wide_png(std::span<const std::byte> encoded, const rect& part, int channels);
image decode_gif(std::span<const std::byte> encoded, const picture_info& info, int channels, bool indexes);

inline bool stb_probe(std::span<const std::byte> encoded, picture_info& info) {
  return probe_jpeg(encoded, info) || probe_png(encoded, info) || probe_bmp(encoded, info) ||
         probe_gif(encoded, info);
}

inline void stb_check_complete(std::span<const std::byte> encoded, const picture_info& info) {
  if (info.format == "JPEG") check_jpeg_complete(encoded);
  if (info.format == "PNG") check_png_complete(encoded);
  if (info.format == "BMP") check_bmp_complete(encoded, info);
  if (info.format == "GIF") check_gif_complete(encoded);
}

[[noreturn]] inline void throw_stb_refusal(const picture_info& info, const char* reason,
                                           const stb_limit& limit) {
  if (limit.exceeded) throw_over_limit(info, limit);
  const std::string_view why = reason != nullptr ? reason : "no reason";
  if (why == "outofmem") throw std::bad_alloc();
  throw error("damaged " + std::string(info.format) +
              ", or of a kind that stb_image does not read (it says: " + std::string(why) +
              "); write the file again, convert it" + or_leave_it_out);
}

inline image stb_decode_jpeg(std::span<const std::byte> encoded, const picture_info& info, int channels) {
  const bool cleared = !check_jpeg_tables(encoded);
  const jpeg_layout layout(encoded);
  bytes with_tables;
  if (layout.wants_standard_tables()) {
    with_tables = with_standard_tables(encoded);
    encoded = with_tables.span();
  }
  int width = 0, height = 0;
  const char* why = "";
  stb_limit limit = limit_of(info);
  std::uint8_t* const pixels = stb_load_jpeg(encoded.data(), static_cast<int>(encoded.size()),
                                             layout.colors(), channels, width, height, why, limit, cleared);
  if (pixels == nullptr) throw_stb_refusal(info, why, limit);
  return image::adopt(pixels, width, height, channels);
}

inline image stb_decode_bmp(std::span<const std::byte> encoded, const picture_info& info, int channels) {
  const bytes plain = plain_bmp(encoded, info);
  if (plain.size() != 0) encoded = plain.span();
  // stb_image treats a fourth byte as alpha even if the header doesn't, and its gray weights differ from
  // Pillow's.
  const int stored = info.channels;
  int width = 0, height = 0;
  const char* why = "";
  stb_limit limit = limit_of(info);
  std::uint8_t* const pixels =
      stb_load(encoded.data(), static_cast<int>(encoded.size()), stored, width, height, why, limit);
  if (pixels == nullptr) throw_stb_refusal(info, why, limit);
  image all = image::adopt(pixels, width, height, stored);
  if (stored == channels) return all;
  image out(width, height, channels);
  const std::uint8_t* from = all.data();
  std::uint8_t* to = out.data();
  for (std::size_t n = out.pixels().size() / static_cast<std::size_t>(channels); n > 0;
       --n, from += stored, to += channels) {
    if (channels >= 3)
      std::memcpy(to, from, 3);
    else
      to[0] = static_cast<std::uint8_t>(rounded_luma(from[0], from[1], from[2]));
    if (channels % 2 == 0) to[channels - 1] = stored == 4 ? from[3] : std::uint8_t{255};
  }
  return out;
}

inline decoded_picture stb_decode(std::span<const std::byte> encoded, const picture_info& info,
                                  const decode_request& request) {
  if (encoded.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw error(std::string(info.format) + " of " + std::to_string(encoded.size()) +
                " bytes: stb_image takes at most 2 GiB; store it in parts");
  }
  decoded_picture out;
  if (info.format == "PNG") {
    out.pixels = decode_png(encoded, request.wanted, request.channels, request.indexes);
    out.top = request.wanted.y;
    return out;
  }
  if (info.format == "GIF") {
    out.pixels = decode_gif(encoded, info, request.channels, request.indexes);
    return out;
  }
  out.pixels = info.format == "JPEG" ? stb_decode_jpeg(encoded, info, request.channels)
                                     : stb_decode_bmp(encoded, info, request.channels);
  const int width = out.pixels.width(), height = out.pixels.height();
  if (width != info.width || height != info.height) {
    throw error("damaged " + std::string(info.format) + ": the header says " +
                size_text(info.width, info.height) + " px, the pixels are " + size_text(width, height) +
                "; write the file again or remove it");
  }
  return out;
}

inline wide_rows stb_decode_wide(std::span<const std::byte> encoded, const picture_info& info,
                                 const decode_request& request) {
  if (info.format != "PNG")
    throw error(std::string(info.format) + " of 16 bits a channel is not read; convert it to PNG");
  return decode_wide_png(encoded, request.wanted, request.channels);
}

/// The built-in decoder, always at full size: JPEG and BMP by stb_image, PNG and GIF by wick.
inline constexpr codec stb_codec{"stb_image", &stb_probe, &stb_check_complete,
                                 &stb_decode, nullptr,    &stb_decode_wide};

}  // namespace wick::detail
