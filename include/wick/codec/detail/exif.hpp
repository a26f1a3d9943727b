// The orientation of a JPEG, from its EXIF segment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <wick/codec/detail/byte_order.hpp>
#include <wick/codec/detail/jpeg_header.hpp>
#include <wick/codec/detail/signature.hpp>
#include <wick/pixels/image.hpp>

namespace wick::inline v0_1::detail {

/// 1 to 8 as in EXIF 2.3; 1 (upright) if the tag is missing or invalid.
inline int exif_orientation(std::span<const std::byte> encoded) noexcept {
  if (encoded.size() < 2 || big16(encoded, 0) != 0xFFD8) return 1;
  jpeg_markers markers(encoded);
  for (;;) {
    const unsigned marker = markers.next();
    if (marker == jpeg_markers::none || marker == jpeg_markers::start_of_scan ||
        marker == jpeg_markers::end_of_image)
      return 1;
    using namespace std::string_view_literals;
    if (marker != 0xE1 || !starts_with(encoded, "Exif\0\0"sv, markers.payload())) continue;
    if (markers.payload_size() < 14) return 1;
    const std::span<const std::byte> tiff =
        encoded.subspan(markers.payload() + 6, markers.payload_size() - 6);
    const bool little = starts_with(tiff, "II");
    const auto two = [&](std::size_t at) { return little ? little16(tiff, at) : big16(tiff, at); };
    const std::size_t directory = little ? little32(tiff, 4) : big32(tiff, 4);
    for (std::size_t i = 0, n = two(directory); i < n; ++i) {
      const std::size_t entry = directory + 2 + 12 * i;
      if (entry >= tiff.size()) return 1;
      if (two(entry) != 0x0112) continue;
      const std::uint32_t type = two(entry + 2);  // SHORT; some writers use BYTE or (S)LONG
      const std::uint32_t value = type == 1                ? byte_at(tiff, entry + 8)
                                  : type != 4 && type != 9 ? two(entry + 8)
                                  : little                 ? little32(tiff, entry + 8)
                                                           : big32(tiff, entry + 8);
      return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
    }
    return 1;
  }
}

/// Swaps rows and columns.
inline image transposed(const image& from) {
  image out(from.height(), from.width(), from.channels());
  const int channels = from.channels();
  for (int y = 0; y < from.height(); ++y) {
    const std::uint8_t* in = from.row(y);
    for (int x = 0; x < from.width(); ++x) {
      for (int c = 0; c < channels; ++c) out.row(x)[y * channels + c] = *in++;
    }
  }
  return out;
}

}  // namespace wick::detail
