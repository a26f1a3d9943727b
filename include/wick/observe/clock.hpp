/// \file
/// How long a tick of the clock that costs a few nanoseconds takes.
#pragma once

#include <cstdint>

#include <wick/system/detail/duration.hpp>
#include <wick/system/detail/ticks.hpp>

namespace wick::detail {

/// Turns ticks into seconds by comparing the two clocks over its own lifetime. A value; any thread may read
/// it.
class tick_scale {
 public:
  tick_scale() noexcept : ticks_(now_ticks()), time_(std::chrono::steady_clock::now()) {}
  /// Seconds since this was made.
  double elapsed() const noexcept {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - time_).count();
  }
  /// Seconds a tick; better the older this is (after 1 ms about one part in a thousand).
  double seconds_per_tick() const noexcept {
    const std::uint64_t ticks = now_ticks() - ticks_;
    return ticks == 0 ? 0.0 : elapsed() / static_cast<double>(ticks);
  }

 private:
  std::uint64_t ticks_;
  std::chrono::steady_clock::time_point time_;
};

}  // namespace wick::detail
