/// \file
/// A PNG without decoding it: the header chunk, and whether all chunks are there and undamaged.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <wick/codec/codec.hpp>

namespace wick::detail {

inline constexpr std::string_view png_signature{"\x89PNG\r\n\x1a\n", 8};

/// Tables to take eight bytes a step: CRC-32, polynomial 0xEDB88320 (ISO 3309), "slicing by 8".
inline constexpr auto crc_tables = [] {
  std::array<std::array<std::uint32_t, 256>, 8> tables{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = (c >> 1) ^ ((c & 1) != 0 ? 0xEDB88320u : 0u);
    tables[0][i] = c;
  }
  for (std::size_t t = 1; t < 8; ++t) {
    for (std::size_t i = 0; i < 256; ++i)
      tables[t][i] = (tables[t - 1][i] >> 8) ^ tables[0][tables[t - 1][i] & 255];
  }
  return tables;
}();

std::uint32_t crc32(std::span<const std::byte> data) noexcept;

constexpr std::uint32_t chunk_type(const char (&name)[5]) noexcept {
  std::uint32_t type = 0;
  for (int i = 0; i < 4; ++i) type = type << 8 | static_cast<unsigned char>(name[i]);
  return type;
}

/// \throws wick::error when the header chunk is not all there
bool probe_png(std::span<const std::byte> encoded, picture_info& info);

/// \throws wick::error when a chunk or IEND is missing, or a chunk that matters does not have the checksum it
/// names
void check_png_complete(std::span<const std::byte> encoded);

}  // namespace wick::detail
