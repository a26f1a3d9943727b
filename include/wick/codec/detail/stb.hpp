/// \file
/// The decoder that is always there, for JPEG, PNG, BMP and the first frame of a GIF. Its code, and
/// stb_image's, is compiled once, by CMake or in the one file that defines WICK_IMPLEMENTATION; none of it is
/// included here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <wick/codec/codec.hpp>
#include <wick/codec/detail/decode_limits.hpp>
#include <wick/codec/detail/jpeg_layout.hpp>

namespace wick::detail {

// Defined in codec/implementation/stb.hpp.

/// Pixels from allocate_block, `channels` a pixel; null on failure, with stb's reason in `why`. When
/// `cleared`, all of stb's memory is zero at first: what it leaves out is the same each time. With `limits`
/// it gets no more than those.
std::uint8_t* stb_load(const std::byte* encoded, int size, int channels, int& width, int& height,
                       const char*& why, stb_limit& limit, bool cleared = false) noexcept;
/// The same of a JPEG whose components are `colors`, with libjpeg-turbo's upsampling.
std::uint8_t* stb_load_jpeg(const std::byte* encoded, int size, jpeg_color_model colors, int channels,
                            int& width, int& height, const char*& why, stb_limit& limit,
                            bool cleared) noexcept;

// Defined in codec/implementation/png.hpp and gif.hpp, which are compiled with it.

/// The rows of `part`, in full width. \throws wick::error when they are damaged
image decode_png(std::span<const std::byte> encoded, const rect& part, int channels, bool indexes);
wide_rows decode_wide_png(std::span<const std::byte> encoded, const rect& part, int channels);
image decode_gif(std::span<const std::byte> encoded, const picture_info& info, int channels, bool indexes);

bool stb_probe(std::span<const std::byte> encoded, picture_info& info);

void stb_check_complete(std::span<const std::byte> encoded, const picture_info& info);

[[noreturn]] void throw_stb_refusal(const picture_info& info, const char* reason, const stb_limit& limit);

image stb_decode_jpeg(std::span<const std::byte> encoded, const picture_info& info, int channels);

/// What a BMP of at most 8 bits has for a header. stb_image reads a color that its palette leaves out from
/// memory that nobody has written, and takes the palette of OS/2's short header, of three bytes a color, to
/// be four colors shorter than it is.
struct bmp_palette {
  explicit bmp_palette(std::span<const std::byte> encoded);
  std::size_t colors() const noexcept { return std::size_t{1} << bits; }
  /// Whether stb_image must be given another file.
  bool incomplete() const noexcept { return bits <= 8 && plain && (header == 12 || stored < colors()); }

  std::size_t header, entry, bits;
  std::size_t offset = 0;  ///< of the pixels
  std::size_t stored = 0;  ///< colors
  bool plain = false;      ///< not compressed
};

/// The same with a header of forty bytes and all colors, the missing ones black.
bytes bmp_with_whole_palette(std::span<const std::byte> encoded, const bmp_palette& of);

image stb_decode_bmp(std::span<const std::byte> encoded, const picture_info& info, int channels);

decoded_picture stb_decode(std::span<const std::byte> encoded, const picture_info& info,
                           const decode_request& request);

wide_rows stb_decode_wide(std::span<const std::byte> encoded, const picture_info& info,
                          const decode_request& request);

/// The decoder that is always there, at full size: JPEG and BMP by stb_image, PNG and GIF by wick.
inline constexpr codec stb_codec{"stb_image", &stb_probe, &stb_check_complete,
                                 &stb_decode, nullptr,    &stb_decode_wide};

}  // namespace wick::detail
