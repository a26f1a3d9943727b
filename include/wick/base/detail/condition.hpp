// Waits for something that a mutex guards to change.
#pragma once

#include <atomic>
#include <cstdint>

#include <wick/base/detail/duration.hpp>
#include <wick/base/detail/futex.hpp>

namespace wick::inline v0_1::detail {

/// Used instead of std::condition_variable, which in glibc before 2.41 occasionally loses a notify_one when
/// several threads wait (its bug 25847): a job would stay queued while all workers that could take it sleep.
/// It also needs no destruction, so it may be left behind in a forked child.
///
/// A waiter holds the mutex, sees that it must wait, reads the count of changes, and sleeps only while the
/// count stays the same. A notifier has held the mutex for the change. If that was before, the waiter has
/// seen the change; if after, the waiter is counted, and the count that it read is an old one: no wake-up is
/// lost. (Unless 2³² changes come between a read and a sleep.)
template <class Atomics = std_atomics>
class basic_condition {
 public:
  /// Call it after a change under the mutex, or still under it.
  void notify_one() noexcept {
    if (waiting_.load(std::memory_order_relaxed) == 0) return;
    changes_.fetch_add(1, std::memory_order_relaxed);
    Atomics::wake_one(changes_);
  }
  void notify_all() noexcept {
    if (waiting_.load(std::memory_order_relaxed) == 0) return;
    changes_.fetch_add(1, std::memory_order_relaxed);
    Atomics::wake_all(changes_);
  }

  /// Unlocks `lock` meanwhile. May return spuriously.
  template <class Lock>
  void wait(Lock& lock) {
    const std::uint32_t seen = begin();
    lock.unlock();
    Atomics::wait(changes_, seen);
    lock.lock();
    end();
  }
  /// The same for at most `most`.
  template <class Lock>
  void wait_for(Lock& lock, std::chrono::nanoseconds most) {
    const std::uint32_t seen = begin();
    lock.unlock();
    Atomics::wait_for(changes_, seen, most);
    lock.lock();
    end();
  }
  /// Waits until `holds()`, which is called under the mutex.
  template <class Lock, class Predicate>
  void wait(Lock& lock, Predicate&& holds) {
    while (!holds()) wait(lock);
  }

 private:
  std::uint32_t begin() noexcept {
    waiting_.store(waiting_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return changes_.load(std::memory_order_relaxed);
  }
  void end() noexcept {
    waiting_.store(waiting_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
  }

  template <class T>
  using atomic = typename Atomics::template atomic<T>;
  atomic<std::uint32_t> changes_{0};
  atomic<std::uint32_t> waiting_{0};  // written under the mutex
};

using condition = basic_condition<>;

}  // namespace wick::detail
