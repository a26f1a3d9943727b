// Implements batch/epoch_fingerprint.hpp. Included in exactly one file of a program.
#pragma once

#include <bit>
#include <cstring>

#include <wick/batch/epoch_fingerprint.hpp>
#include <wick/ext/fingerprint.hpp>

namespace wick::inline v0_1::detail {

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
