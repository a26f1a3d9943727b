// One header block of a tar archive: the fields of v7, ustar, GNU, and star, decoded and checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace wick::inline v0_1::detail {

inline constexpr std::size_t tar_block = 512;

constexpr std::uint64_t round_up_to_block(std::uint64_t size) noexcept {
  return (size + (tar_block - 1)) & ~std::uint64_t{tar_block - 1};
}

/// A view of the 512 bytes. Field offsets are those of POSIX.1-1988 (ustar).
class tar_header {
 public:
  explicit tar_header(const unsigned char* block) noexcept : block_(block) {}

  bool all_zero() const noexcept;

  /// The checksum in the header; nothing if it isn't a number.
  std::optional<std::uint64_t> checksum() const noexcept { return number(148, 8); }
  /// The computed checksum: the sum of all bytes, with the checksum field counted as blanks.
  std::uint64_t sum() const noexcept;
  bool checksum_holds() const noexcept;

  std::optional<std::uint64_t> size() const noexcept { return number(124, 12); }
  char type() const noexcept { return static_cast<char>(block_[156]); }
  /// With ustar's prefix. GNU's headers use its bytes for something else.
  std::string name() const;
  /// GNU's old sparse format: whether another block of the map follows this header, or this block of the map.
  bool sparse_map_goes_on() const noexcept { return block_[482] != 0; }
  static bool sparse_map_goes_on(const unsigned char* block) noexcept { return block[504] != 0; }

 private:
  std::string_view text(std::size_t at, std::size_t width) const noexcept;

  /// Octal digits between blanks and NULs, or, if the first bit is set, a big-endian binary number (GNU).
  std::optional<std::uint64_t> number(std::size_t at, std::size_t width) const noexcept;

  const unsigned char* block_;
};

}  // namespace wick::detail
