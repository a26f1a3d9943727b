/// \file
/// A clock that costs a few nanoseconds: the processor's time-stamp counter where there is one.
#pragma once

#include <cstdint>

#include <wick/system/detail/duration.hpp>

namespace wick::detail {

/// Ticks of the fastest steady clock there is; tick_scale says how long one takes. They rise on one thread;
/// between two processors they may differ by a few, so subtract with care what another thread has read.
inline std::uint64_t now_ticks() noexcept {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  std::uint64_t t;
  asm volatile("mrs %0, cntvct_el0" : "=r"(t));
  return t;
#else
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

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
