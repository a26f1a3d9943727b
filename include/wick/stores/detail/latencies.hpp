/// \file
/// How long the last answers of a server took.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <limits>

namespace wick::inline v0_1::detail {

/// Of the last 256. One thread adds and asks for a limit; any thread asks for the quantiles.
class latencies {
 public:
  void add(double seconds) noexcept;
  /// A time that few answers take: 1.5 times p95. Infinite before there are 64.
  double late() const noexcept { return late_; }
  double median() const noexcept { return median_.load(std::memory_order_relaxed); }
  double p99() const noexcept { return p99_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::size_t kept = 256, least = 64, pause = 16;  // answers between two looks at all

  std::array<float, kept> last_{};
  std::size_t count_ = 0;
  double late_ = std::numeric_limits<double>::infinity();
  std::atomic<double> median_{0}, p99_{0};
};

}  // namespace wick::detail
