/// \file
/// Where idle workers sleep. Nobody spins, nobody misses a wake-up, and a burst of work wakes one worker, which wakes
/// the next.
#pragma once

#include <atomic>
#include <cstdint>

#include <wick/run/detail/futex.hpp>

namespace wick {

/// Counts those who search for work and those who sleep, in one word, so that each decision is one atomic operation on
/// it and no fence is needed.
///
/// Why no wake-up is lost: a producer publishes its item, then touches the word (notify). A worker touches the word
/// (retire), then looks for items once more. The two touches have an order: if the producer's is first, the worker's
/// look sees the item; if the worker's is first, the producer sees it sleeping and hands it a permit. A producer that
/// sees a searcher leaves it to that one: a searcher looks again after its own touch.
///
/// What a thread wrote before notify is visible to the one it wakes. Any thread may call any member, in the order
/// begin_search, then found or retire, after retire either cancel or sleep, which both make it a searcher again. When
/// it is destroyed nobody may sleep: notify_all, and join those who did. `Atomics` is the tests' (detail::std_atomics).
template <class Atomics = detail::std_atomics>
class basic_event_count {
 public:
  /// An item was published. Wakes one sleeper unless someone searches already.
  void notify() noexcept {
    std::uint64_t seen = state_.fetch_add(0, std::memory_order_acq_rel);
    while (sleeping(seen) != 0 && searching(seen) == 0) {
      // The woken one counts as searching from now on, so that the next notify needs no system call.
      if (state_.compare_exchange_weak(seen, seen - one_sleeping + one_searching, std::memory_order_acq_rel)) {
        permits_.fetch_add(1, std::memory_order_release);
        Atomics::wake_one(permits_);
        return;
      }
    }
  }

  /// Wakes everyone who sleeps (to stop).
  void notify_all() noexcept {
    std::uint64_t seen = state_.fetch_add(0, std::memory_order_acq_rel);
    while (sleeping(seen) != 0) {
      const std::uint64_t n = sleeping(seen);
      if (state_.compare_exchange_weak(seen, seen - n * one_sleeping + n * one_searching,
                                       std::memory_order_acq_rel)) {
        permits_.fetch_add(static_cast<std::uint32_t>(n), std::memory_order_release);
        Atomics::wake_all(permits_);
        return;
      }
    }
  }

  /// A worker begins to look in other places than its own queue.
  void begin_search() noexcept { state_.fetch_add(one_searching, std::memory_order_acq_rel); }

  /// A searcher found something and stops searching. Producers relied on it, so the last one to stop looks once more
  /// after its touch, `more()`, and wakes a successor when there is anything: a producer that touched before has
  /// published what is looked for, one that touches later sees that nobody searches.
  template <class Look>
  void found(Look&& more) noexcept {
    if (searching(state_.fetch_sub(one_searching, std::memory_order_acq_rel)) == 1 && more()) notify();
  }
  /// The same without a look: wakes a successor in any case, which costs a wake-up for nothing when there is nothing.
  void found() noexcept {
    found([] { return true; });
  }

  /// A searcher found nothing and announces that it will sleep. It must look everywhere once more, and then either
  /// cancel() or sleep().
  void retire() noexcept { state_.fetch_add(one_sleeping - one_searching, std::memory_order_acq_rel); }

  /// There was something after all: the caller is a searcher again.
  void cancel() noexcept {
    std::uint64_t seen = state_.load(std::memory_order_relaxed);
    while (sleeping(seen) != 0) {
      if (state_.compare_exchange_weak(seen, seen - one_sleeping + one_searching, std::memory_order_acq_rel)) return;
    }
    take_permit();  // a notify chose this sleeper already
  }

  /// Sleeps until chosen by a notify; the caller is a searcher then.
  void sleep() noexcept { take_permit(); }

  /// For tests and reports.
  std::uint32_t sleepers() const noexcept {
    return static_cast<std::uint32_t>(sleeping(state_.load(std::memory_order_acquire)));
  }

 private:
  static constexpr std::uint64_t one_sleeping = 1;
  static constexpr std::uint64_t one_searching = std::uint64_t{1} << 32;
  static constexpr std::uint64_t sleeping(std::uint64_t s) noexcept { return s & 0xFFFFFFFFu; }
  static constexpr std::uint64_t searching(std::uint64_t s) noexcept { return s >> 32; }

  void take_permit() noexcept {
    std::uint32_t n = permits_.load(std::memory_order_acquire);
    for (;;) {
      if (n == 0) {
        Atomics::wait(permits_, 0);
        n = permits_.load(std::memory_order_acquire);
      } else if (permits_.compare_exchange_weak(n, n - 1, std::memory_order_acq_rel)) {
        return;
      }
    }
  }

  template <class T>
  using atomic = typename Atomics::template atomic<T>;
  alignas(64) atomic<std::uint64_t> state_{0};
  alignas(64) atomic<std::uint32_t> permits_{0};
};

using event_count = basic_event_count<>;

}  // namespace wick
