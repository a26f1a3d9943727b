// Where idle workers sleep. No worker spins or misses a wake-up, and a burst of work wakes one worker, which
// wakes the next.
#pragma once

#include <atomic>
#include <cstdint>

#include <wick/base/detail/duration.hpp>
#include <wick/base/detail/futex.hpp>

namespace wick::inline v0_1::detail {

/// Counts the workers that search for work and those that sleep, in one word, so each decision is one atomic
/// operation on it and needs no fence.
///
/// Why no wake-up is lost: a producer publishes its item, then touches the word (notify). A worker touches
/// the word (retire), then looks for items once more. The two touches are ordered: if the producer's comes
/// first, the worker's look sees the item; if the worker's comes first, the producer sees that it sleeps and
/// hands it a permit. A producer that sees a searcher leaves the item to it: a searcher looks again after its
/// own touch.
///
/// If work comes in bursts that end before a woken worker is of use, a worker naps before it sleeps: after a
/// while it looks again by itself. Until then, a producer whose work can wait that long
/// (notify_unless_napping) needn't wake a worker. The end of a nap is a touch like any other, followed by a
/// look.
///
/// Writes before notify are visible to the woken thread. Any thread may call any member, in this order:
/// begin_search, then found or retire; after retire, either cancel or sleep, both of which make it a searcher
/// again. Between the two, the thread may call begin_nap and then either end_nap or nap, any number of times.
/// No thread may be asleep when this is destroyed: call notify_all, and join the sleepers. `Atomics` is for
/// the tests (see detail::std_atomics).
template <class Atomics = detail::std_atomics>
class basic_event_count {
 public:
  /// An item was published. Wakes one sleeper unless a worker is already searching.
  void notify() noexcept { wake_for(state_.fetch_add(0, std::memory_order_acq_rel)); }

  /// The same for an item that can wait as long as a nap takes: wakes no worker while one naps. Returns
  /// whether it woke one.
  bool notify_unless_napping() noexcept {
    const std::uint64_t seen = state_.fetch_add(0, std::memory_order_acq_rel);
    return napping(seen) == 0 && wake_for(seen);
  }

  /// Wakes all sleepers (to stop).
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

  /// A worker starts to look outside its own queue.
  void begin_search() noexcept { state_.fetch_add(one_searching, std::memory_order_acq_rel); }

  /// A searcher found something and stops searching. Producers relied on it, so the last one to stop looks
  /// once more after its touch, with `more()`, and wakes a successor if there is anything and no worker naps.
  /// A producer that touched before has published the item, so the look finds it; one that touches later sees
  /// that no worker searches. Returns whether it woke one.
  template <class Look>
  bool found(Look&& more) noexcept {
    return searching(state_.fetch_sub(one_searching, std::memory_order_acq_rel)) == 1 && more() &&
           notify_unless_napping();
  }
  /// The same without a look: it assumes that there is more, which wastes a wake-up if there isn't.
  void found() noexcept {
    found([] { return true; });
  }

  /// A searcher found nothing and is about to sleep. It must look everywhere once more, and then call either
  /// cancel() or sleep().
  void retire() noexcept { state_.fetch_add(one_sleeping - one_searching, std::memory_order_acq_rel); }

  /// There was something after all: the caller is a searcher again.
  void cancel() noexcept {
    std::uint64_t seen = state_.load(std::memory_order_relaxed);
    while (sleeping(seen) != 0) {
      if (state_.compare_exchange_weak(seen, seen - one_sleeping + one_searching, std::memory_order_acq_rel))
        return;
    }
    take_permit();  // a notify has already chosen this sleeper
  }

  /// Sleeps until a notify chooses the caller, which is then a searcher.
  void sleep() noexcept { take_permit(); }

  /// A retired worker is about to sleep only for a while: it must then call either nap() or end_nap().
  void begin_nap() noexcept { state_.fetch_add(one_napping, std::memory_order_relaxed); }

  /// Sleeps until a notify chooses the caller, and returns true: the caller is then a searcher. After at most
  /// `most`, it returns false, and everything is as if the caller had just retired.
  bool nap(std::chrono::nanoseconds most) noexcept {
    Atomics::wait_for(permits_, 0, most);
    // Look for a permit first: the wake-up that came with it may have been the only one, and this thread has
    // used it up. A plain load might read an older value.
    bool chosen = false;
    std::uint32_t n = permits_.fetch_add(0, std::memory_order_relaxed);
    while (n != 0 && !chosen) chosen = permits_.compare_exchange_weak(n, n - 1, std::memory_order_relaxed);
    end_nap();  // also acquires the writes of the thread that chose it
    return chosen;
  }
  /// Producers rely on this thread to look again after this.
  void end_nap() noexcept { state_.fetch_sub(one_napping, std::memory_order_acquire); }

  /// For tests and reports. A napping thread counts as asleep.
  std::uint32_t sleepers() const noexcept {
    return static_cast<std::uint32_t>(sleeping(state_.load(std::memory_order_acquire)));
  }

 private:
  // A napping thread is counted twice: also among the sleepers, so that notify wakes it like any other.
  static constexpr std::uint64_t one_sleeping = 1;
  static constexpr std::uint64_t one_napping = std::uint64_t{1} << 20;
  static constexpr std::uint64_t one_searching = std::uint64_t{1} << 40;
  static constexpr std::uint64_t sleeping(std::uint64_t s) noexcept { return s % one_napping; }
  static constexpr std::uint64_t napping(std::uint64_t s) noexcept { return s % one_searching / one_napping; }
  static constexpr std::uint64_t searching(std::uint64_t s) noexcept { return s / one_searching; }

  bool wake_for(std::uint64_t seen) noexcept {
    while (sleeping(seen) != 0 && searching(seen) == 0) {
      // The woken one counts as searching from now on, so that the next notify needs no system call.
      if (state_.compare_exchange_weak(seen, seen - one_sleeping + one_searching,
                                       std::memory_order_acq_rel)) {
        permits_.fetch_add(1, std::memory_order_release);
        Atomics::wake_one(permits_);
        return true;
      }
    }
    return false;
  }

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

}  // namespace wick::detail
