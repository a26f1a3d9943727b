/// \file
/// The decoder that is always there: stb_image, for JPEG, PNG, BMP and the first frame of a GIF. Its code is
/// compiled once, by CMake or in the one file that defines WICK_IMPLEMENTATION; none of it is included here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <span>
#include <string>
#include <string_view>

#include <wick/image/codec.hpp>
#include <wick/image/detail/bmp_gif_header.hpp>
#include <wick/image/detail/decode_limits.hpp>
#include <wick/image/detail/jpeg_header.hpp>
#include <wick/image/detail/png_header.hpp>

namespace wick {

namespace detail {

// Defined in image/detail/stb_implementation.hpp.

/// Pixels from allocate_block, `channels` a pixel; null on failure, with stb's reason in `why`. When
/// `cleared`, all of stb's memory is zero at first: what it leaves out is the same each time. With `limits`
/// it gets no more than those.
std::uint8_t* stb_load(const std::byte* encoded, int size, int channels, int& width, int& height,
                       const char*& why, bool cleared = false, stb_limits* limits = nullptr) noexcept;

/// Pillow's convert("L"): ITU-R 601-2 luma, rounded.
inline void grey_from_rgb(const std::uint8_t* rgb, std::uint8_t* grey, std::size_t pixels) noexcept {
  for (std::size_t i = 0; i < pixels; ++i, rgb += 3) {
    grey[i] = static_cast<std::uint8_t>((rgb[0] * 19595u + rgb[1] * 38470u + rgb[2] * 7471u + 0x8000u) >> 16);
  }
}

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

inline decoded_picture stb_decode(std::span<const std::byte> encoded, const picture_info& info,
                                  const decode_request& request) {
  if (encoded.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw error(std::string(info.format) + " of " + std::to_string(encoded.size()) +
                " bytes: stb_image takes at most 2 GiB; store it in parts");
  }
  if (info.format == "GIF") check_gif_codes(encoded);
  const bool cleared = info.format == "JPEG" && !check_jpeg_tables(encoded);
  // A JPEG holds its own grey; for the others stb's weights are not Pillow's.
  const bool to_grey = request.channels == 1 && info.channels >= 3 && info.format != "JPEG";
  const int channels = to_grey ? 3 : request.channels;
  int width = 0, height = 0;
  const char* why = "";
  stb_limits limits = limits_of(encoded, info);
  std::uint8_t* const pixels = stb_load(encoded.data(), static_cast<int>(encoded.size()), channels, width,
                                        height, why, cleared, &limits);
  if (pixels == nullptr) {
    if (limits.exceeded != stb_limits::part::none) throw_over_limit(encoded, info, limits);
    if (std::string_view(why) == "outofmem") throw std::bad_alloc();
    std::string kind(info.format);
    if (info.bits != 8) kind = std::to_string(info.bits) + "-bit " + kind;
    throw error(
        "damaged " + kind + ", or of a kind that stb_image does not read (it says: " + why +
        "); write the file again, convert it" + or_leave_it_out);
  }
  decoded_picture out;
  out.pixels = image::adopt(pixels, width, height, channels);
  if (width != info.width || height != info.height) {
    throw error("damaged " + std::string(info.format) + ": the header says " +
                size_text(info.width, info.height) + " px, the pixels are " + size_text(width, height) +
                "; write the file again or remove it");
  }
  if (to_grey) {
    image grey(width, height, 1);
    grey_from_rgb(out.pixels.data(), grey.data(), grey.pixels().size());
    out.pixels = std::move(grey);
  }
  return out;
}

}  // namespace detail

/// stb_image as a codec: decodes the whole picture at full size.
inline constexpr codec stb_codec{"stb_image", &detail::stb_probe, &detail::stb_check_complete,
                                 &detail::stb_decode};

/// The decoders that decode() asks. A faster one is put in front with `wick::codecs().add(...)`, before the
/// first loader starts.
inline codec_list& codecs() noexcept {
  static codec_list list(stb_codec);
  return list;
}

}  // namespace wick
