// Decides from past results whether waking one more worker pays off.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include <wick/base/detail/duration.hpp>

namespace wick::inline v0_1::detail {

/// A wake-up costs two threads about 5 µs together, and a job that moves to another processor takes its
/// memory along, which costs each of the two 100 ns or more. So the worker that posted a burst of shorter
/// jobs finishes it sooner by itself, in a third of the processor time. How long a job takes isn't known in
/// advance. So workers that look for work report how it went, and after a few wasted looks in a row they
/// should nap instead.
///
/// Any thread may call any member. The answers are hints: concurrent calls may be counted as one.
class sharing_record {
 public:
  using nanoseconds = std::chrono::nanoseconds;

  /// \param patience  how often in a row it must have been in vain
  explicit sharing_record(std::uint32_t patience) noexcept : patience_(patience) {}

  /// A worker with more jobs than it can run at once has woken another.
  void woke(nanoseconds now) noexcept { woke_.store(now.count(), std::memory_order_relaxed); }
  /// A worker has run out of work: soon after such a wake-up, one worker fewer would have been enough.
  /// `clock` is read only if there was one.
  template <class Clock>
  void idle(Clock&& clock) noexcept {
    const nanoseconds::rep woke = woke_.load(std::memory_order_relaxed);
    if (woke == 0) return;
    woke_.store(0, std::memory_order_relaxed);
    judge(clock().count() - woke >= worth_a_wake.count());
  }
  /// A worker has run `jobs` jobs of another worker in that time.
  void took(std::size_t jobs, nanoseconds time) noexcept { judge(time >= worth_a_move * jobs); }

  bool in_vain() const noexcept { return in_vain_.load(std::memory_order_relaxed) >= patience_; }
  /// How long to nap, from 0.1 to 0.8 ms: the more often it has been in vain, the longer.
  nanoseconds nap() const noexcept {
    const std::uint32_t more = in_vain_.load(std::memory_order_relaxed) - patience_;
    return shortest_nap * (1u << std::min<std::uint32_t>(more, 3));
  }

 private:
  static constexpr nanoseconds worth_a_wake = std::chrono::microseconds(20), worth_a_move{250},
                               shortest_nap = std::chrono::microseconds(100);

  void judge(bool was_of_use) noexcept {
    const std::uint32_t n = in_vain_.load(std::memory_order_relaxed);
    const std::uint32_t now = was_of_use ? 0 : std::min(n + 1, patience_ + 3);
    if (now != n) in_vain_.store(now, std::memory_order_relaxed);
  }

  const std::uint32_t patience_;
  std::atomic<std::uint32_t> in_vain_{0};
  std::atomic<nanoseconds::rep> woke_{0};
};

}  // namespace wick::detail
