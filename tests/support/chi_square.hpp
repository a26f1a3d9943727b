// Whether counts look like those of a uniform distribution.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace wick_test {

/// By how many deviations chi-square of the counts is above what a uniform distribution gives: about normal
/// (Wilson and Hilferty, 1931), so that 4.5 is passed by chance three times in a million. Tests have fixed
/// seeds: all or none.
inline double excess(const std::vector<std::uint64_t>& counts) {
  const double expected =
      static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0})) /
      static_cast<double>(counts.size());
  double chi_square = 0;
  for (const std::uint64_t n : counts) {
    const double off = static_cast<double>(n) - expected;
    chi_square += off * off / expected;
  }
  const double freedom = static_cast<double>(counts.size()) - 1;
  return (std::cbrt(chi_square / freedom) - (1 - 2 / (9 * freedom))) / std::sqrt(2 / (9 * freedom));
}

inline bool uniform(const std::vector<std::uint64_t>& counts) { return excess(counts) < 4.5; }

}  // namespace wick_test
