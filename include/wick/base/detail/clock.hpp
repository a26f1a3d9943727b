// Finds how long a tick of the fast clock takes; reading that clock costs a few nanoseconds.
#pragma once

#include <cstdint>

#include <wick/base/detail/duration.hpp>
#include <wick/base/detail/ticks.hpp>

namespace wick::inline v0_1::detail {

/// Turns ticks into seconds by comparing the two clocks over its own lifetime. A value type; any thread may
/// read it.
class tick_scale {
 public:
  tick_scale() noexcept : ticks_(now_ticks()), time_(std::chrono::steady_clock::now()) {}
  /// Seconds since this was made.
  double elapsed() const noexcept {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - time_).count();
  }
  /// Seconds per tick; more precise the older this is (after 1 ms, to about one part in a thousand).
  double seconds_per_tick() const noexcept {
    // Reads several times and keeps the fastest: the thread may lose its processor between the two clocks.
    std::uint64_t least = ~std::uint64_t{0}, ticks = 0;
    double seconds = 0;
    for (int i = 0; i < 4; ++i) {
      const std::uint64_t before = now_ticks();
      const double now = elapsed();
      const std::uint64_t took = now_ticks() - before;
      if (took >= least) continue;
      least = took;
      ticks = before - ticks_;
      seconds = now;
    }
    return ticks == 0 ? 0.0 : seconds / static_cast<double>(ticks);
  }

 private:
  std::uint64_t ticks_;
  std::chrono::steady_clock::time_point time_;
};

}  // namespace wick::detail
