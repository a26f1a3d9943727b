/// \file
/// Deadlines, and one thread that sleeps until the next of them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <wick/system/detail/condition.hpp>
#include <wick/system/detail/cpu_set.hpp>
#include <wick/system/detail/process.hpp>
#include <wick/system/detail/signal_mask.hpp>
#include <wick/system/detail/thread_name.hpp>

namespace wick::detail {

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
/// add, cancel, size: any thread. What was written before add is visible to `expired`. The destructor is
/// stop().
class timer_queue {
 public:
  timer_queue() : shared_(std::make_unique<shared>()) {}
  timer_queue(const timer_queue&) = delete;
  timer_queue& operator=(const timer_queue&) = delete;
  ~timer_queue() {
    stop();
    // In a forked child the thread is missing: it can't be joined, nor destroyed without.
    if (born_.elsewhere()) static_cast<void>(shared_.release());
  }

  /// False, and `expired` is not called, when the timer was cancelled before or the queue was stopped.
  /// \throws std::bad_alloc, std::system_error when the thread can't be started, std::logic_error in a forked
  /// child
  bool add(timer& t) {
    born_.require_same("a timer was set");
    shared& s = *shared_;
    bool earliest = false;
    {
      std::lock_guard lock(s.mutex);
      if (s.stopping || t.place == timer::over) return false;
      if (!s.thread.joinable()) {
        const detail::signals_blocked quiet;
        s.thread = std::thread([&s, cpus = cpus_] {
          detail::name_this_thread("wick-time", 0);
          cpus.apply();  // the caller may be a worker that is bound to one
          work(s);
        });
      }
      s.heap.push_back(&t);
      s.watching += t.watches;
      t.number = s.added++;
      s.up(s.heap.size() - 1);
      earliest = t.place == 0;
    }
    if (earliest) s.wake.notify_one();
    return true;
  }

  /// True: the timer was waiting, `expired` is not called. False: it is being called, was, or, for a timer
  /// that has not been added yet, never will be.
  bool cancel(timer& t) noexcept {
    if (born_.elsewhere()) return false;
    std::lock_guard lock(shared_->mutex);
    const std::size_t place = std::exchange(t.place, timer::over);
    if (place >= timer::over) return false;
    shared_->take_out(place);
    return true;
  }

  /// Timers that wait at this moment.
  std::size_t size() const noexcept {
    std::lock_guard lock(shared_->mutex);
    return shared_->heap.size();
  }

  /// Whether no work waits for a deadline.
  bool at_rest() const noexcept {
    std::lock_guard lock(shared_->mutex);
    return shared_->heap.size() == shared_->watching;
  }

  /// Expires all that wait, at once and with false, and ends the thread; add says false from now on. By one
  /// thread at a time, and not on the queue's own.
  void stop() noexcept {
    if (born_.elsewhere()) return;
    {
      std::lock_guard lock(shared_->mutex);
      shared_->stopping = true;
    }
    shared_->wake.notify_one();
    if (shared_->thread.joinable()) shared_->thread.join();
  }

 private:
  struct shared {
    std::mutex mutex;
    detail::condition wake;
    std::vector<timer*> heap;  // the earliest at 0; each knows its place
    std::uint64_t added = 0;
    std::size_t watching = 0;
    bool stopping = false;
    std::thread thread;

    static bool before(const timer* a, const timer* b) noexcept {
      return a->due != b->due ? a->due < b->due : a->number < b->number;
    }
    void put(std::size_t i, timer* t) noexcept {
      heap[i] = t;
      t->place = i;
    }
    void up(std::size_t i) noexcept {
      timer* const t = heap[i];
      for (; i != 0 && before(t, heap[(i - 1) / 2]); i = (i - 1) / 2) put(i, heap[(i - 1) / 2]);
      put(i, t);
    }
    void down(std::size_t i) noexcept {
      timer* const t = heap[i];
      for (;;) {
        std::size_t child = 2 * i + 1;
        if (child >= heap.size()) break;
        if (child + 1 < heap.size() && before(heap[child + 1], heap[child])) ++child;
        if (!before(heap[child], t)) break;
        put(i, heap[child]);
        i = child;
      }
      put(i, t);
    }
    void take_out(std::size_t i) noexcept {
      watching -= heap[i]->watches;
      timer* const last = heap.back();
      heap.pop_back();
      if (i == heap.size()) return;
      put(i, last);
      up(i);
      down(last->place);
    }
  };

  static void work(shared& s) noexcept {
    std::unique_lock lock(s.mutex);
    for (;;) {
      // All that are due are taken out under one lock and told without it.
      timer* first = nullptr;
      timer** end = &first;
      const timer::clock::time_point now = timer::clock::now();
      const bool on_time = !s.stopping;
      while (!s.heap.empty() && (!on_time || s.heap.front()->due <= now)) {
        timer* const t = s.heap.front();
        s.take_out(0);
        t->place = timer::over;
        t->next = nullptr;
        *end = t;
        end = &t->next;
      }
      if (first != nullptr) {
        lock.unlock();
        while (first != nullptr) {
          timer* const t = std::exchange(first, first->next);
          t->expired(t, on_time);
        }
        lock.lock();
      } else if (s.stopping) {
        return;
      } else if (s.heap.empty()) {
        s.wake.wait(lock);
      } else {
        s.wake.wait_for(lock, s.heap.front()->due - now);
      }
    }
  }

  const detail::process_mark born_;
  const detail::cpu_set cpus_ = detail::cpu_set::of_this_thread();
  std::unique_ptr<shared> shared_;
};

}  // namespace wick::detail
