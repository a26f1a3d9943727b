// Reads a PNG's header chunk without decoding pixels, and checks that its chunks are complete and undamaged.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <wick/codec/detail/byte_order.hpp>
#include <wick/codec/detail/signature.hpp>
#include <wick/ext/codec.hpp>
#include <wick/pipeline/error.hpp>

namespace wick::inline v0_1::detail {

inline constexpr std::string_view png_signature{"\x89PNG\r\n\x1a\n", 8};

/// Tables for eight bytes a step: CRC-32, polynomial 0xEDB88320 (ISO 3309), "slicing by 8".
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

inline std::uint32_t crc32(std::span<const std::byte> data) noexcept {
  const auto& t = crc_tables;
  std::uint32_t crc = ~0u;
  std::size_t i = 0;
  for (; i + 8 <= data.size(); i += 8) {
    const std::uint32_t low = crc ^ little32(data, i), high = little32(data, i + 4);
    crc = t[7][low & 255] ^ t[6][(low >> 8) & 255] ^ t[5][(low >> 16) & 255] ^ t[4][low >> 24] ^  //
          t[3][high & 255] ^ t[2][(high >> 8) & 255] ^ t[1][(high >> 16) & 255] ^ t[0][high >> 24];
  }
  for (; i < data.size(); ++i) crc = (crc >> 8) ^ t[0][(crc ^ byte_at(data, i)) & 255];
  return ~crc;
}

constexpr std::uint32_t chunk_type(const char (&name)[5]) noexcept {
  std::uint32_t type = 0;
  for (int i = 0; i < 4; ++i) type = type << 8 | static_cast<unsigned char>(name[i]);
  return type;
}

/// \throws wick::error when the header chunk is incomplete
inline bool probe_png(std::span<const std::byte> encoded, picture_info& info) {
  if (!starts_with(encoded, png_signature)) return false;
  info.format = "PNG";
  if (encoded.size() < 33) throw_truncated("PNG", encoded.size(), "inside its header");
  if (big32(encoded, 8) != 13 || big32(encoded, 12) != chunk_type("IHDR")) {
    throw error("damaged PNG: its first chunk is not IHDR (Apple's CgBI variant?); convert it or remove it");
  }
  info.width = big32(encoded, 16);
  info.height = big32(encoded, 20);
  info.bits = static_cast<int>(byte_at(encoded, 24));
  const std::uint32_t color = byte_at(encoded, 25);
  info.channels = color == 0 ? 1 : color == 4 ? 2 : color == 6 ? 4 : 3;
  info.palette = color == 3;
  if (info.channels == 2 || info.channels == 4) return true;
  // A tRNS chunk before the pixels makes one color, or palette entries, transparent.
  for (std::uint64_t at = 33; at + 8 <= encoded.size();) {
    const std::uint32_t type = big32(encoded, static_cast<std::size_t>(at) + 4);
    if (type == chunk_type("tRNS")) ++info.channels;
    if (type == chunk_type("tRNS") || type == chunk_type("IDAT") || type == chunk_type("IEND")) break;
    at += std::uint64_t{12} + big32(encoded, static_cast<std::size_t>(at));
  }
  return true;
}

/// \throws wick::error when a chunk or IEND is missing, or the checksum of a critical chunk is wrong
inline void check_png_complete(std::span<const std::byte> encoded) {
  for (std::size_t at = png_signature.size();;) {
    if (encoded.size() - at < 12) throw_truncated("PNG", encoded.size(), "without an IEND chunk");
    const std::uint32_t length = big32(encoded, at), type = big32(encoded, at + 4);
    std::string name;
    for (std::size_t i = 0; i < 4; ++i) name += static_cast<char>(byte_at(encoded, at + 4 + i));
    if (encoded.size() - at - 12 < length) {
      throw_truncated("PNG", encoded.size(),
                      "inside the " + printable(name) + " chunk at " + std::to_string(at) + ", which has " +
                          std::to_string(length) + " bytes");
    }
    const bool critical = (type & 0x20000000u) == 0;
    if (critical &&
        crc32(encoded.subspan(at + 4, std::size_t{length} + 4)) != big32(encoded, at + 8 + length)) {
      throw error("damaged PNG: the checksum of the " + printable(name) + " chunk at " + std::to_string(at) +
                  " does not match; fetch or write the file again" + or_leave_it_out);
    }
    if (type == chunk_type("IEND")) return;
    at += std::size_t{12} + length;
  }
}

}  // namespace wick::detail
