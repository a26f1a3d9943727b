// Implements stores/detail/latencies.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>

#include <wick/stores/detail/latencies.hpp>

namespace wick::inline v0_1::detail {

void latencies::add(double seconds) noexcept {
  last_[count_++ % kept] = static_cast<float>(seconds);
  if (count_ % pause != 0) return;
  std::array<float, kept> sorted = last_;
  const std::size_t n = std::min(count_, kept);
  std::sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(n));
  median_.store(static_cast<double>(sorted[n / 2]), std::memory_order_relaxed);
  p99_.store(static_cast<double>(sorted[n * 99 / 100]), std::memory_order_relaxed);
  if (n >= least) late_.store(1.5 * static_cast<double>(sorted[n * 95 / 100]), std::memory_order_relaxed);
}

}  // namespace wick::detail
