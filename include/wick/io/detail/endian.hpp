// Numbers in the byte order of a file format.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace wick::inline v0_1::detail {

inline std::uint32_t load_big_endian(const unsigned char* p) noexcept {
  return std::uint32_t{p[0]} << 24 | std::uint32_t{p[1]} << 16 | std::uint32_t{p[2]} << 8 | p[3];
}

/// Reads a number of `bytes` bytes at `at`, lowest byte first.
inline std::uint64_t load_little_endian(std::string_view text, std::size_t at, std::size_t bytes) noexcept {
  std::uint64_t n = 0;
  for (std::size_t i = bytes; i-- > 0;) n = n << 8 | static_cast<unsigned char>(text[at + i]);
  return n;
}

/// Appends eight bytes, lowest byte first.
inline void append_little_endian(std::string& to, std::uint64_t value) {
  for (int i = 0; i < 8; ++i) to += static_cast<char>(value >> (8 * i) & 0xFF);
}

inline std::uint16_t reverse_bytes(std::uint16_t v) noexcept { return __builtin_bswap16(v); }
inline std::uint32_t reverse_bytes(std::uint32_t v) noexcept { return __builtin_bswap32(v); }
inline std::uint64_t reverse_bytes(std::uint64_t v) noexcept { return __builtin_bswap64(v); }

template <std::unsigned_integral Word>
void reverse_each(std::byte* data, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i, data += sizeof(Word)) {
    Word word;
    std::memcpy(&word, data, sizeof(Word));
    word = reverse_bytes(word);
    std::memcpy(data, &word, sizeof(Word));
  }
}

/// In place, from the byte order of idx files to the machine's.
inline void big_endian_to_native(std::byte* data, std::size_t count, std::size_t element_size) noexcept {
  if constexpr (std::endian::native == std::endian::little) {
    switch (element_size) {
      case 2:
        reverse_each<std::uint16_t>(data, count);
        break;
      case 4:
        reverse_each<std::uint32_t>(data, count);
        break;
      case 8:
        reverse_each<std::uint64_t>(data, count);
        break;
      default:
        break;
    }
  }
}

}  // namespace wick::detail
