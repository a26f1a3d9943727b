// Samples that take a certain time, a few of them much longer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include <wick/pipeline/sample.hpp>

namespace order {

using sample = wick::sample<std::array<std::uint64_t, 8>>;

struct work {
  static constexpr std::uint64_t seed = 5;

  std::uint64_t steps = 1000;     // of arithmetic a sample, each some ns
  std::uint64_t slow_one_in = 0;  // 0: none
  std::uint64_t slower = 100;     // times
  std::size_t batch_size = 64;
  std::uint64_t samples = 1u << 16;  // an epoch

  bool slow(std::uint64_t i) const noexcept {
    return slow_one_in != 0 && ((i * 0x9E3779B97F4A7C15u) >> 32) % slow_one_in == 0;
  }
  sample make(std::uint64_t i) const noexcept {
    std::uint64_t x = i;
    for (std::uint64_t n = slow(i) ? steps * slower : steps; n != 0; --n)
      x = (x ^ (x >> 29)) * 0xBF58476D1CE4E5B9u + n;
    return {{x, x + 1, x + 2, x + 3, x + 4, x + 5, x + 6, x + 7}, static_cast<std::int64_t>(i)};
  }
};

}  // namespace order
