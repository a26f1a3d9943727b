// Counts the threads that are inside an object's functions, so that its destructor can wait for them.
#pragma once

#include <atomic>
#include <cstdint>

#include <wick/base/detail/futex.hpp>

namespace wick::inline v0_1::detail {

/// Counts calls from threads that an object's destructor doesn't join. Such a call may cause the object to be
/// destroyed before it returns: a job that it queued runs on a worker, ends the last sample, and the loader
/// is destroyed. Enter before others see any effect of the call; after leave(), don't touch the object. Both:
/// any thread.
template <class Atomics = std_atomics>
class basic_visitors {
 public:
  void enter() noexcept { word_.fetch_add(one, std::memory_order_relaxed); }
  void leave() noexcept {
    // Waking needs only the address: the word may be gone.
    if (word_.fetch_sub(one, std::memory_order_release) == one + waits) Atomics::wake_all(word_);
  }
  /// For the destructor: everything that the visitors did happens before what follows.
  void wait_until_gone() noexcept {
    std::uint32_t seen = word_.fetch_or(waits, std::memory_order_acquire) | waits;
    while (seen != waits) {
      Atomics::wait(word_, seen);
      seen = word_.load(std::memory_order_acquire);
    }
  }

 private:
  static constexpr std::uint32_t waits = 1, one = 2;
  typename Atomics::template atomic<std::uint32_t> word_{0};
};

using visitors = basic_visitors<>;

}  // namespace wick::detail
