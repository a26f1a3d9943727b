// A shuffle that is computed, not stored: a keyed bijection of 0 … n-1 that can be evaluated at any position
// directly.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include <wick/pipeline/random.hpp>
#include <wick/sampling/detail/grid_rounds.hpp>

namespace wick::inline v0_1::detail {

/// A Feistel network over the smallest grid of 2^b columns and as many rows as it takes, about as many of
/// each, applied until it lands below n (cycle walking). Black, Rogaway: "Ciphers with arbitrary finite
/// domains", CT-RSA 2002. The grid has less than one row too many, so walking is rare whatever n is. The
/// round functions are affine with random coefficients, and only the upper part of the result counts.
/// Dietzfelbinger: "Universal hashing and k-wise independent random variables via integer arithmetic without
/// primes", STACS 1996. About 9 ns per position, 4 when asked for many, in 224 bytes whatever n is.
class permutation {
 public:
  /// A permutation of no positions.
  constexpr permutation() noexcept = default;
  /// A permutation of n ≥ 1 positions for this (seed, epoch, stage). Another epoch has another permutation.
  constexpr permutation(std::uint64_t n, std::uint64_t seed, std::uint64_t epoch,
                        std::uint32_t stage) noexcept
      : n_(n) {
    random_stream stream(seed, epoch, 0, stage);
    if (n <= max_listed) {
      list(stream);
      return;
    }
    const auto bits = static_cast<std::uint32_t>(std::bit_width(n - 1));
    grid_.column_bits = bits / 2;
    grid_.rows = ((n - 1) >> grid_.column_bits) + 1;
    // Few rows and columns have few round functions to choose from: they need more rounds to look random.
    grid_.rounds = bits < 12 ? detail::grid_rounds::max_rounds : 8u;
    const auto draw = [&]() -> std::uint64_t {
      const std::uint64_t low = stream();
      return narrow() ? low : (std::uint64_t{stream()} << 32) | low;
    };
    for (std::uint32_t r = 0; r < grid_.rounds; ++r) {
      grid_.factor[r] = draw() | 1u;
      grid_.offset[r] = draw();
    }
  }

  constexpr std::uint64_t size() const noexcept { return n_; }

  /// Where position p of the epoch comes from; p < n.
  constexpr std::uint64_t operator()(std::uint64_t p) const noexcept {
    if (n_ <= max_listed) return (listed_ >> (4 * p)) & 15u;
    do {
      p = narrow() ? grid_.one<std::uint32_t>(p) : grid_.one<std::uint64_t>(p);
    } while (p >= n_);
    return p;
  }

  /// The same for `count` positions, in place and faster.
  void map(std::uint64_t* positions, std::size_t count) const noexcept {
    std::uint64_t* const end = positions + count;
    if (n_ > max_listed && narrow()) {
      for (; end - positions >= detail::grid_rounds::lanes; positions += detail::grid_rounds::lanes) {
        grid_.many(positions);
        for (std::uint64_t* p = positions; p != positions + detail::grid_rounds::lanes; ++p) {
          if (*p >= n_) *p = (*this)(*p);
        }
      }
    }
    for (; positions != end; ++positions) *positions = (*this)(*positions);
  }

 private:
  static constexpr std::uint64_t max_listed = 16;

  constexpr bool narrow() const noexcept { return n_ <= std::uint64_t{1} << 32; }

  /// So few positions are stored, four bits each: with halves of one bit, no number of rounds ever looks
  /// random. Fisher and Yates, in Durstenfeld's form ("Algorithm 235", 1964).
  constexpr void list(random_stream& stream) noexcept {
    listed_ = 0xFEDCBA9876543210u;
    for (std::uint64_t i = n_; i-- > 1;) {
      const std::uint64_t j = stream.below(i + 1);
      const std::uint64_t differ = ((listed_ >> (4 * i)) ^ (listed_ >> (4 * j))) & 15u;
      listed_ ^= (differ << (4 * i)) | (differ << (4 * j));
    }
  }

  std::uint64_t n_ = 0;
  std::uint64_t listed_ = 0;
  detail::grid_rounds grid_;
};

}  // namespace wick::detail
