/// \file
/// The processor's time-stamp counter, where there is one: a clock that costs a few nanoseconds.
#pragma once

#include <cstdint>

#include <wick/async/detail/duration.hpp>

namespace wick::inline v0_1::detail {

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

}  // namespace wick::detail
