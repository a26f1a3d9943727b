// The response times of a server.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <limits>

namespace wick::inline v0_1::detail {

/// The last 256 response times. One thread at a time adds them; any thread calls the other functions.
class latencies {
 public:
  void add(double seconds) noexcept;
  /// 1.5 times the time that 95 % of the responses take at most. Infinite before there are 64.
  double late() const noexcept { return late_.load(std::memory_order_relaxed); }
  double median() const noexcept { return median_.load(std::memory_order_relaxed); }
  double p99() const noexcept { return p99_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::size_t kept = 256, least = 64, pause = 16;  // responses between two updates

  std::array<float, kept> last_{};
  std::size_t count_ = 0;
  std::atomic<double> late_{std::numeric_limits<double>::infinity()};
  std::atomic<double> median_{0}, p99_{0};
};

}  // namespace wick::detail
