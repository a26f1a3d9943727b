/// \file
/// Deadlines, and one thread that sleeps until the next of them.
#pragma once

#include <cstddef>
#include <cstdint>

#include <wick/base/detail/cpu_set.hpp>
#include <wick/base/detail/duration.hpp>
#include <wick/base/detail/owned.hpp>
#include <wick/base/detail/process.hpp>

namespace wick::inline v0_1::detail {

/// One deadline; lies inside what waits for it, and lives until `expired` was called or cancel() returned
/// true. Its other members belong to the queue.
struct timer {
  using clock = std::chrono::steady_clock;

  clock::time_point due{};
  /// Called once, on the queue's thread: with true at the deadline or soon after it, with false when the
  /// queue is stopped before. The timer is the caller's again; it may free it. It must neither block nor
  /// throw.
  void (*expired)(timer*, bool on_time) noexcept = nullptr;
  /// No work waits for it: it only looks whether all is well.
  bool watches = false;

  std::size_t place = unseen;
  std::uint64_t number = 0;
  timer* next = nullptr;
  static constexpr std::size_t unseen = ~std::size_t{0}, over = unseen - 1;
};

/// A heap of timers and its thread, which is started with the first of them and kept. Each executor has one;
/// most users want sleep_for. Timers of the same deadline expire in the order in which they were added.
///
/// add, cancel, size: any thread. Writes before add are visible to `expired`. The destructor is stop().
class timer_queue {
 public:
  timer_queue();
  timer_queue(const timer_queue&) = delete;
  timer_queue& operator=(const timer_queue&) = delete;
  ~timer_queue();

  /// False, and `expired` is not called, when the timer was cancelled before or the queue was stopped.
  /// \throws std::bad_alloc, std::system_error when the thread can't be started, std::logic_error in a forked
  /// child
  bool add(timer& t);

  /// True: the timer was waiting, `expired` is not called. False: it is being called, was, or, for a timer
  /// that has not been added yet is never added.
  bool cancel(timer& t) noexcept;

  /// Timers that wait at this moment.
  std::size_t size() const noexcept;

  /// Whether no work waits for a deadline.
  bool at_rest() const noexcept;

  /// Expires all that wait, at once and with false, and ends the thread; add says false from now on. By one
  /// thread at a time, and not on the queue's own.
  void stop() noexcept;

 private:
  struct shared;

  static void work(shared& s) noexcept;

  const detail::process_mark born_;
  const detail::cpu_set cpus_ = detail::cpu_set::of_this_thread();
  owned<shared> shared_;
};

}  // namespace wick::detail
