// Deadlines, and one thread that sleeps until the next one.
#pragma once

#include <cstddef>
#include <cstdint>

#include <wick/base/detail/cpu_set.hpp>
#include <wick/base/detail/duration.hpp>
#include <wick/base/detail/owned.hpp>
#include <wick/base/detail/process.hpp>

namespace wick::inline v0_1::detail {

/// One deadline; part of the object that waits for it. It must live until `expired` was called or cancel()
/// returned true. Its other members belong to the queue.
struct timer {
  using clock = std::chrono::steady_clock;

  clock::time_point due{};
  /// Called once, on the queue's thread: with true at the deadline or soon after it, with false if the queue
  /// is stopped before. The timer belongs to the caller again; `expired` may free it. It must neither block
  /// nor throw.
  void (*expired)(timer*, bool on_time) noexcept = nullptr;
  /// No work waits for this timer: it only checks that all is well.
  bool watches = false;

  std::size_t place = unseen;
  std::uint64_t number = 0;
  timer* next = nullptr;
  static constexpr std::size_t unseen = ~std::size_t{0}, over = unseen - 1;
};

/// A heap of timers and its thread, which starts with the first timer and is kept. Each executor has one;
/// most users want sleep_for. Timers with the same deadline expire in the order in which they were added.
///
/// add, cancel, size: any thread. Writes before add are visible to `expired`. The destructor calls stop().
class timer_queue {
 public:
  timer_queue();
  timer_queue(const timer_queue&) = delete;
  timer_queue& operator=(const timer_queue&) = delete;
  ~timer_queue();

  /// Returns false, without calling `expired`, if the timer was cancelled before or the queue was stopped.
  /// \throws std::bad_alloc, std::system_error if the thread can't be started, std::logic_error in a forked
  /// child
  bool add(timer& t);

  /// True: the timer was waiting, and `expired` isn't called. False: `expired` is being called or has been;
  /// or the timer hasn't been added yet; a later add() refuses it.
  bool cancel(timer& t) noexcept;

  /// The number of timers that wait at this moment.
  std::size_t size() const noexcept;

  /// Whether no work waits for a deadline.
  bool at_rest() const noexcept;

  /// Expires all waiting timers at once, with false, and ends the thread; add returns false from now on. One
  /// thread at a time, and not the queue's own.
  void stop() noexcept;

 private:
  struct shared;

  static void work(shared& s) noexcept;

  const detail::process_mark born_;
  const detail::cpu_set cpus_ = detail::cpu_set::of_this_thread();
  owned<shared> shared_;
};

}  // namespace wick::detail
