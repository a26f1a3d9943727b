// Implements sources/detail/tar_header.hpp. Included in exactly one file of a program.
#pragma once

#include <cstring>

#include <wick/sources/detail/tar_header.hpp>

namespace wick::inline v0_1::detail {

bool tar_header::all_zero() const noexcept {
  return block_[0] == 0 && std::memcmp(block_, block_ + 1, tar_block - 1) == 0;
}

std::uint64_t tar_header::sum() const noexcept {
  std::uint64_t s = 8 * ' ';
  for (std::size_t i = 0; i < tar_block; ++i) s += i < 148 || i >= 156 ? block_[i] : 0;
  return s;
}

bool tar_header::checksum_holds() const noexcept {
  const std::optional<std::uint64_t> said = checksum();
  if (!said || *said == sum()) return said.has_value();
  std::int64_t with_sign = 8 * ' ';  // some old writers added signed chars
  for (std::size_t i = 0; i < tar_block; ++i)
    with_sign += i < 148 || i >= 156 ? static_cast<signed char>(block_[i]) : 0;
  return with_sign >= 0 && *said == static_cast<std::uint64_t>(with_sign);
}

std::string tar_header::name() const {
  std::string out;
  if (std::memcmp(block_ + 257, "ustar\0", 6) == 0) {
    const bool star = std::memcmp(block_ + 508, "tar\0", 4) == 0;
    out = text(345, star ? 131 : 155);
    if (!out.empty()) out += '/';
  }
  return out += text(0, 100);
}

std::string_view tar_header::text(std::size_t at, std::size_t width) const noexcept {
  const auto* first = reinterpret_cast<const char*>(block_ + at);
  return {first, ::strnlen(first, width)};
}

std::optional<std::uint64_t> tar_header::number(std::size_t at, std::size_t width) const noexcept {
  const unsigned char* p = block_ + at;
  const unsigned char* const end = p + width;
  std::uint64_t value = 0;
  if (*p & 0x80) {
    if (*p != 0x80) return std::nullopt;  // negative, or more than 64 bits
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

}  // namespace wick::detail
