/// \file
/// The bodies of what resume/epoch_fingerprint.hpp declares. Included in exactly one file of a program.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <wick/resume/epoch_fingerprint.hpp>
#include <wick/sample/fingerprint.hpp>

namespace wick {

epoch_fingerprint& epoch_fingerprint::operator+=(const epoch_fingerprint& other) noexcept {
  value += other.value;
  samples += other.samples;
  batches += other.batches;
  return *this;
}

}  // namespace wick

namespace wick::detail {

std::uint64_t folded_product(std::uint64_t a, std::uint64_t b) noexcept {
#ifdef __SIZEOF_INT128__
  __extension__ using wide = unsigned __int128;
  const wide p = static_cast<wide>(a) * b;
  return static_cast<std::uint64_t>(p) ^ static_cast<std::uint64_t>(p >> 64);
#else
  const std::uint64_t al = a & 0xFFFFFFFFu, ah = a >> 32, bl = b & 0xFFFFFFFFu, bh = b >> 32;
  const std::uint64_t ll = al * bl, lh = al * bh, hl = ah * bl, hh = ah * bh;
  const std::uint64_t middle = (ll >> 32) + (lh & 0xFFFFFFFFu) + (hl & 0xFFFFFFFFu);
  const std::uint64_t low = (ll & 0xFFFFFFFFu) | (middle << 32);
  return low ^ (hh + (lh >> 32) + (hl >> 32) + (middle >> 32));
#endif
}

std::uint64_t print_of(std::uint64_t position, std::uint64_t index) noexcept {
  return folded_product(position ^ 0xA0761D6478BD642Fu, index ^ 0xE7037ED1A0B428DBu);
}

std::uint64_t prints_of(std::uint64_t first, const std::uint64_t* index, std::uint64_t count) noexcept {
  std::uint64_t even = 0, odd = 0, i = 0;
  for (; i + 2 <= count; i += 2) {
    even += print_of(first + i, index[i]);
    odd += print_of(first + i + 1, index[i + 1]);
  }
  return i < count ? even + odd + print_of(first + i, index[i]) : even + odd;
}

std::uint64_t content_of(const std::byte* data, std::size_t size, std::uint64_t seed) noexcept {
  const auto word = [](const std::byte* at, std::size_t n) {
    std::uint64_t w = 0;
    if constexpr (std::endian::native == std::endian::little) {
      std::memcpy(&w, at, n);
    } else {
      for (std::size_t i = 0; i < n; ++i) w |= std::to_integer<std::uint64_t>(at[i]) << (8 * i);
    }
    return w;
  };
  std::uint64_t a = folded_product(seed ^ 0x8EBC6AF09C88C6E3u, size ^ 0x589965CC75374CC3u), b = a;
  for (; size >= 32; data += 32, size -= 32) {
    a = folded_product(word(data, 8) ^ 0xA0761D6478BD642Fu, word(data + 8, 8) ^ a);
    b = folded_product(word(data + 16, 8) ^ 0xE7037ED1A0B428DBu, word(data + 24, 8) ^ b);
  }
  for (; size != 0;) {
    const std::size_t n = size < 8 ? size : 8;
    a = folded_product(word(data, n) ^ 0xA0761D6478BD642Fu, a ^ n);
    data += n;
    size -= n;
  }
  return folded_product(a ^ 0x1D8E4E27C47D124Fu, b ^ 0xEB44ACCAB455D165u);
}

}  // namespace wick::detail
