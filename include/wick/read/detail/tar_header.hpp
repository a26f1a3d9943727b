/// \file
/// One header block of a tar archive: the fields of v7, ustar, GNU and star, decoded and checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace wick::detail {

inline constexpr std::size_t tar_block = 512;

constexpr std::uint64_t round_up_to_block(std::uint64_t size) noexcept {
  return (size + (tar_block - 1)) & ~std::uint64_t{tar_block - 1};
}

/// A view on the 512 bytes. Field offsets are those of POSIX.1-1988 (ustar).
class tar_header {
 public:
  explicit tar_header(const unsigned char* block) noexcept : block_(block) {}

  bool all_zero() const noexcept {
    return block_[0] == 0 && std::memcmp(block_, block_ + 1, tar_block - 1) == 0;
  }

  /// What the header says of itself, nothing when that is no number.
  std::optional<std::uint64_t> checksum() const noexcept { return number(148, 8); }
  /// What it should say: the sum of all bytes, its own field counted as blanks.
  std::uint64_t sum() const noexcept {
    std::uint64_t s = 8 * ' ';
    for (std::size_t i = 0; i < tar_block; ++i) s += i < 148 || i >= 156 ? block_[i] : 0;
    return s;
  }
  bool checksum_holds() const noexcept {
    const std::optional<std::uint64_t> said = checksum();
    if (!said || *said == sum()) return said.has_value();
    std::int64_t with_sign = 8 * ' ';  // some old writers added signed chars
    for (std::size_t i = 0; i < tar_block; ++i)
      with_sign += i < 148 || i >= 156 ? static_cast<signed char>(block_[i]) : 0;
    return with_sign >= 0 && *said == static_cast<std::uint64_t>(with_sign);
  }

  std::optional<std::uint64_t> size() const noexcept { return number(124, 12); }
  char type() const noexcept { return static_cast<char>(block_[156]); }
  /// With ustar's prefix. GNU's headers have other things in its place.
  std::string name() const {
    std::string out;
    if (std::memcmp(block_ + 257, "ustar\0", 6) == 0) {
      const bool star = std::memcmp(block_ + 508, "tar\0", 4) == 0;
      out = text(345, star ? 131 : 155);
      if (!out.empty()) out += '/';
    }
    return out += text(0, 100);
  }
  /// GNU's old sparse format: another block of its map follows this header, or this block of the map.
  bool sparse_map_goes_on() const noexcept { return block_[482] != 0; }
  static bool sparse_map_goes_on(const unsigned char* block) noexcept { return block[504] != 0; }

 private:
  std::string_view text(std::size_t at, std::size_t width) const noexcept {
    const auto* first = reinterpret_cast<const char*>(block_ + at);
    return {first, ::strnlen(first, width)};
  }

  /// Octal digits between blanks and NULs, or, when the first bit is set, a big-endian binary number (GNU).
  std::optional<std::uint64_t> number(std::size_t at, std::size_t width) const noexcept {
    const unsigned char* p = block_ + at;
    const unsigned char* const end = p + width;
    std::uint64_t value = 0;
    if (*p & 0x80) {
      if (*p != 0x80) return std::nullopt;  // negative, or beyond 64 bits
      for (++p; p != end; ++p) {
        if (value >> 56) return std::nullopt;
        value = value << 8 | *p;
      }
      return value;
    }
    while (p != end && *p == ' ') ++p;
    for (; p != end && *p >= '0' && *p <= '7'; ++p) value = value << 3 | static_cast<std::uint64_t>(*p - '0');
    for (; p != end; ++p) {
      if (*p != ' ' && *p != 0) return std::nullopt;
    }
    return value;
  }

  const unsigned char* block_;
};

}  // namespace wick::detail
