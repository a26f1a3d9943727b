// The processor's time-stamp counter, where there is one: a clock that costs a few nanoseconds.
#pragma once

#include <cstdint>

#include <wick/base/detail/duration.hpp>

namespace wick::inline v0_1::detail {

/// Ticks of the fastest steady clock available; tick_scale says how long one takes. They rise on one thread;
/// between two processors they may differ by a few, so be careful when you subtract another thread's ticks.
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

/// The rate that constants in ticks are written for: about that of x86's counter, which runs at 2 to 4 GHz.
inline constexpr std::uint64_t nominal_rate = 2'500'000'000;

/// Ticks per second of now_ticks(). On x86 it's the nominal rate; 64-bit ARM's counter runs at 24 MHz to 1
/// GHz.
inline std::uint64_t tick_rate() noexcept {
#if defined(__x86_64__)
  return nominal_rate;
#elif defined(__aarch64__)
  std::uint64_t rate;
  asm("mrs %0, cntfrq_el0" : "=r"(rate));
  return rate != 0 ? rate : 25'000'000;
#else
  using period = std::chrono::steady_clock::period;
  return static_cast<std::uint64_t>(period::den / period::num);
#endif
}

/// Converts nominal ticks to ticks of a counter with this rate; at least one.
constexpr std::uint64_t in_ticks(std::uint64_t nominal, std::uint64_t rate) noexcept {
  const std::uint64_t ticks = nominal / nominal_rate * rate + nominal % nominal_rate * rate / nominal_rate;
  return ticks != 0 ? ticks : 1;
}
inline std::uint64_t in_ticks(std::uint64_t nominal) noexcept { return in_ticks(nominal, tick_rate()); }

}  // namespace wick::detail
