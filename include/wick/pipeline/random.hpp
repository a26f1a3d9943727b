// Random numbers that depend on a sample's place, not on the thread that draws: Philox 4x32-10,
// counter-based.
#pragma once

#include <array>
#include <cstdint>

namespace wick::inline v0_1 {

namespace detail {

/// Philox 4x32-10: a bijection of 128-bit counters under a 64-bit key.
/// Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
constexpr std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                                  std::array<std::uint32_t, 2> key) noexcept {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * counter[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * counter[2];
    counter = {static_cast<std::uint32_t>(p1 >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(p1),
               static_cast<std::uint32_t>(p0 >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(p0)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

inline constexpr std::uint64_t last_epoch = 0xFFFFFFFF;  // a counter has 32 bits for it

}  // namespace detail

/// A separate stream of random numbers for each (seed, epoch, position, stage): there is nothing to share,
/// save, or lose. It models UniformRandomBitGenerator, so it works with <random>'s distributions, too. The
/// members here give the same numbers with every standard library; <random>'s distributions don't. Positions
/// up to 2^48, epochs up to 2^32, stages up to 2^16; 2^34 numbers per stream.
class random_stream {
 public:
  using result_type = std::uint32_t;

  constexpr random_stream(std::uint64_t seed, std::uint64_t epoch, std::uint64_t position,
                          std::uint32_t stage) noexcept
      : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
        counter_{0, static_cast<std::uint32_t>(position),
                 static_cast<std::uint32_t>((position >> 32) & 0xFFFFu) | (stage << 16),
                 static_cast<std::uint32_t>(epoch)} {}

  static constexpr result_type min() noexcept { return 0; }
  static constexpr result_type max() noexcept { return 0xFFFFFFFFu; }

  constexpr result_type operator()() noexcept {
    if (used_ == 4) {
      block_ = detail::philox4x32(counter_, key_);
      ++counter_[0];
      used_ = 0;
    }
    return block_[used_++];
  }

  /// Uniform in [0, 1), 53 bits.
  constexpr double uniform() noexcept {
    const std::uint64_t high = (*this)() >> 5, low = (*this)() >> 6;
    return static_cast<double>((high << 26) | low) * 0x1p-53;
  }
  /// Uniform in [low, high); low when the two are equal.
  constexpr double uniform(double low, double high) noexcept {
    const double x = low + (high - low) * uniform();
    return x < high ? x : low;  // the sum may have been rounded up to high
  }
  /// Uniform in [0, bound), without bias; bound ≥ 1. Lemire: "Fast random integer generation in an interval",
  /// 2019.
  constexpr std::uint64_t below(std::uint64_t bound) noexcept {
    if (bound <= 1) return 0;
    if (bound > 0xFFFFFFFFu) {
      const std::uint64_t limit = ~std::uint64_t{0} - ~std::uint64_t{0} % bound;
      for (;;) {
        const std::uint64_t high = (*this)();
        const std::uint64_t x = (high << 32) | (*this)();
        if (x < limit) return x % bound;
      }
    }
    const std::uint32_t b = static_cast<std::uint32_t>(bound);
    std::uint64_t product = std::uint64_t{(*this)()} * b;
    if (static_cast<std::uint32_t>(product) < b) {
      const std::uint32_t threshold = (0u - b) % b;
      while (static_cast<std::uint32_t>(product) < threshold) product = std::uint64_t{(*this)()} * b;
    }
    return product >> 32;
  }
  /// True with the given probability.
  constexpr bool bernoulli(double probability) noexcept { return uniform() < probability; }
  /// Normal with mean 0 and deviation 1 (Box and Muller, 1958).
  double normal() noexcept;
  /// Skips the rest of this block of four numbers, and `blocks` blocks after it.
  constexpr void skip_blocks(std::uint32_t blocks) noexcept {
    counter_[0] += blocks;
    used_ = 4;
  }

 private:
  std::array<std::uint32_t, 2> key_;
  std::array<std::uint32_t, 4> counter_;
  std::array<std::uint32_t, 4> block_{};
  std::uint32_t used_ = 4;
};

}  // namespace wick
