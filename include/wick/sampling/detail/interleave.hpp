// Whose turn it is among several sources that each have a share of the turns.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <wick/sampling/order.hpp>

namespace wick::inline v0_1::detail {

/// Each source's share of the turns that the sources before it leave, except for the last one's, in fractions
/// of 2^64. A weight of 0 has no turns. \throws wick::error for a weight that isn't finite and at least 0, or
/// if all are 0
void shares_of(std::span<const double> weights, std::span<std::uint64_t> shares);

/// Whose turn is it? A cascade of evenly spaced choices: the first source takes its share of the positions,
/// as evenly as whole numbers can be, the second its share of the rest, … Any position is found directly,
/// along with the number of the source's turns before it. Shares are fractions of 2^64, so that every machine
/// counts alike.
template <std::size_t N>
class interleave {
 public:
  struct turn {
    std::size_t source;
    std::uint64_t number;  // of this source's turns, from 0
  };

  explicit interleave(const std::array<double, N>& weights) { shares_of(weights, share_); }

  turn at(std::uint64_t p) const noexcept {
    for (std::size_t s = 0; s + 1 < N; ++s) {
      const std::uint64_t before = turns(s, p);
      if (turns(s, p + 1) != before) return {s, before};
      p -= before;
    }
    return {N - 1, p};
  }
  /// How many of the positions below p belong to source s.
  std::uint64_t count(std::size_t s, std::uint64_t p) const noexcept {
    for (std::size_t i = 0; i < s; ++i) p -= turns(i, p);
    return s + 1 == N ? p : turns(s, p);
  }
  /// The lowest p ≤ endless with at least `n` turns of source s below it.
  std::uint64_t positions_for(std::size_t s, std::uint64_t n) const noexcept {
    std::uint64_t low = 0, high = endless;
    while (low < high) {
      const std::uint64_t middle = low + (high - low) / 2;
      if (count(s, middle) >= n)
        high = middle;
      else
        low = middle + 1;
    }
    return low;
  }

 private:
  /// p · share, rounded: it rises in steps of 0 or 1, and the first step comes after half a period.
  std::uint64_t turns(std::size_t s, std::uint64_t p) const noexcept {
    __extension__ using wide = unsigned __int128;
    return static_cast<std::uint64_t>((static_cast<wide>(p) * share_[s] + (std::uint64_t{1} << 63)) >> 64);
  }
  std::array<std::uint64_t, N> share_{};
};

}  // namespace wick::detail
