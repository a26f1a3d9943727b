// How far down the stack code goes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace wick_test {

/// How much stack the calls of touch() spanned, the worst thread's.
class stack_span {
 public:
  [[gnu::noinline]] void touch() noexcept {
    thread_local const void* of = nullptr;
    thread_local std::uintptr_t low = 0, high = 0;
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    if (std::exchange(of, this) != this) low = high = here;
    if (here < low) low = here;
    if (here > high) high = here;
    std::size_t seen = span_.load(std::memory_order_relaxed);
    while (seen < high - low && !span_.compare_exchange_weak(seen, high - low, std::memory_order_relaxed)) {
    }
  }
  std::size_t bytes() const noexcept { return span_.load(std::memory_order_relaxed); }

  /// Far more than a bounded nesting needs at -O0 under a sanitizer, far less than 10^4 nested calls.
  static constexpr std::size_t bounded = 384 * 1024;

 private:
  std::atomic<std::size_t> span_{0};
};

}  // namespace wick_test
