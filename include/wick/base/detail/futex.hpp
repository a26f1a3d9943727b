// The basis of the engine's lock-free types: atomics, and sleeping on one of them (the futex on Linux,
// std::atomic::wait elsewhere).
#pragma once

#include <atomic>
#include <climits>
#include <cstdint>
#include <mutex>

#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#else
#include <algorithm>
#include <thread>
#endif

#include <wick/base/detail/duration.hpp>

namespace wick::inline v0_1::detail {

/// Sleeps while `word` holds `expected`; may return spuriously.
inline void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected) noexcept {
#ifdef __linux__
  static_assert(sizeof(word) == 4);
  ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT_PRIVATE, expected, nullptr,
            nullptr, 0);
#else
  word.wait(expected, std::memory_order_relaxed);
#endif
}

/// The same for at most `most`.
inline void futex_wait_for(std::atomic<std::uint32_t>& word, std::uint32_t expected,
                           std::chrono::nanoseconds most) noexcept {
#ifdef __linux__
  if (most.count() <= 0) return;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(most);
  const timespec time{static_cast<time_t>(seconds.count()), static_cast<long>((most - seconds).count())};
  ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT_PRIVATE, expected, &time, nullptr,
            0);
#else
  const auto end = std::chrono::steady_clock::now() + most;
  while (word.load(std::memory_order_relaxed) == expected && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(most, std::chrono::microseconds(50)));
  }
#endif
}

/// Wakes up to `count` threads that sleep on `word`. The word may be gone by the time the kernel looks: only
/// its address is used.
inline void futex_wake(std::atomic<std::uint32_t>& word, int count) noexcept {
#ifdef __linux__
  ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE_PRIVATE, count, nullptr, nullptr,
            0);
#else
  count == 1 ? word.notify_one() : word.notify_all();
#endif
}

inline void futex_wake_all(std::atomic<std::uint32_t>& word) noexcept { futex_wake(word, INT_MAX); }

/// Tells the processor that the thread is in a spin loop.
inline void spin_pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// A program's atomics. The lock-free types are templates over them, so that the tests can run the same code
/// over atomics that try each interleaving and each memory order that C++ allows; only the tests use others.
struct std_atomics {
  template <class T>
  using atomic = std::atomic<T>;
  using mutex = std::mutex;
  static void wait(std::atomic<std::uint32_t>& word, std::uint32_t expected) noexcept {
    futex_wait(word, expected);
  }
  static void wait_for(std::atomic<std::uint32_t>& word, std::uint32_t expected,
                       std::chrono::nanoseconds most) noexcept {
    futex_wait_for(word, expected, most);
  }
  static void wake_one(std::atomic<std::uint32_t>& word) noexcept { futex_wake(word, 1); }
  static void wake_all(std::atomic<std::uint32_t>& word) noexcept { futex_wake_all(word); }
  static std::chrono::nanoseconds now() noexcept {
    return std::chrono::steady_clock::now().time_since_epoch();
  }
};

/// A word on which one thread waits for one event. Writes before set are visible after wait, and to a thread
/// that saw is_set. The waiting thread may destroy it as soon as wait returns.
template <class Atomics = std_atomics>
class basic_wake_flag {
 public:
  void set() noexcept {
    if (word_.exchange(set_value, std::memory_order_acq_rel) == sleeping_value) Atomics::wake_all(word_);
  }
  bool is_set() const noexcept { return word_.load(std::memory_order_acquire) == set_value; }
  void wait() noexcept {
    for (;;) {
      std::uint32_t seen = word_.load(std::memory_order_acquire);
      if (seen == set_value) return;
      if (seen == clear_value &&
          !word_.compare_exchange_strong(seen, sleeping_value, std::memory_order_acq_rel)) {
        continue;
      }
      Atomics::wait(word_, sleeping_value);
    }
  }
  /// Sleeps for at most `most`; may return early. Returns whether it is set.
  bool wait_for(std::chrono::nanoseconds most) noexcept {
    std::uint32_t seen = clear_value;
    if (word_.compare_exchange_strong(seen, sleeping_value, std::memory_order_relaxed) ||
        seen == sleeping_value) {
      Atomics::wait_for(word_, sleeping_value, most);
    }
    return is_set();
  }
  /// Only while no thread sets or waits.
  void clear() noexcept { word_.store(clear_value, std::memory_order_relaxed); }

 private:
  static constexpr std::uint32_t clear_value = 0, sleeping_value = 1, set_value = 2;
  typename Atomics::template atomic<std::uint32_t> word_{clear_value};
};

using wake_flag = basic_wake_flag<>;

}  // namespace wick::detail
