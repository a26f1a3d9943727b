/// \file
/// The run queues: each worker's own, the shared one, and where workers sleep that find nothing in any of them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <wick/run/detail/futex.hpp>
#include <wick/run/detail/injector.hpp>
#include <wick/run/event_count.hpp>
#include <wick/run/job.hpp>
#include <wick/run/steal_queue.hpp>

namespace wick::detail {

/// All of the executor but its threads: who gets which job, and who sleeps when. post and stop: any thread. next: one
/// thread a worker number. A job that was posted is handed out once, and is not left lying while a worker sleeps that
/// could take it; what was written before post is visible to who gets it.
template <class Atomics = std_atomics>
class basic_run_queues {
 public:
  basic_run_queues(std::size_t workers, std::size_t capacity) {
    workers_.reserve(workers);
    for (std::size_t i = 0; i < workers; ++i) {
      workers_.push_back(std::make_unique<worker>(capacity, static_cast<std::uint32_t>(i * 0x9E3779B9u + 1)));
    }
  }

  std::size_t workers() const noexcept { return workers_.size(); }

  /// `from`: the number of the worker that calls, or anything higher.
  void post(job* j, std::size_t from) noexcept {
    if (from >= workers_.size() || !workers_[from]->queue.push(j)) injector_.push(j);
    // The only worker there is is awake, and looks once more before it sleeps.
    if (from < workers_.size() && workers_.size() == 1) return;
    idle_.notify();
  }

  /// The next job of worker `number`; sleeps while there is none. Null after stop(), when there is nothing anywhere.
  job* next(std::size_t number) noexcept {
    worker& w = *workers_[number];
    if (job* j = find(w)) return j;
    idle_.begin_search();
    for (;;) {
      job* j = steal(w);
      if (j == nullptr) j = injector_.pop();
      if (j != nullptr) {
        idle_.found([this] { return anything(); });
        return j;
      }
      idle_.retire();
      // Before the look: who sees the stop sees what was posted before it, and must not leave that behind.
      const bool stopping = stopping_.load(std::memory_order_acquire);
      if (anything()) {
        idle_.cancel();
      } else if (stopping) {
        idle_.cancel();
        idle_.found();
        return nullptr;
      } else {
        idle_.sleep();
      }
    }
  }

  /// From now on next returns null instead of sleeping.
  void stop() noexcept {
    stopping_.store(true, std::memory_order_release);
    idle_.notify_all();
  }

  /// Eight jobs or more, or all that fit, in the own queue of worker `number`, which calls.
  bool is_long(std::size_t number) const noexcept {
    const auto& queue = workers_[number]->queue;
    return queue.size() >= std::min<std::size_t>(8, queue.capacity());
  }
  /// Whether a job is in any of the queues.
  bool anything() const noexcept {
    if (!injector_.empty()) return true;
    for (const auto& w : workers_) {
      if (!w->queue.empty()) return true;
    }
    return false;
  }

  std::uint64_t stolen() const noexcept {
    std::uint64_t n = 0;
    for (const auto& w : workers_) n += w->stolen.load(std::memory_order_relaxed);
    return n;
  }
  std::size_t asleep() const noexcept { return idle_.sleepers(); }

 private:
  template <class T>
  using atomic = typename Atomics::template atomic<T>;

  struct alignas(64) worker {
    worker(std::size_t capacity, std::uint32_t seed) : queue(capacity), random(seed) {}
    steal_queue<job, Atomics> queue;
    std::atomic<std::uint64_t> stolen{0};  // only for reports
    std::uint32_t random;
    std::uint32_t tick = 0;
  };

  /// Own and shared queue take turns, so that neither can starve the other. And once in 64 turns another's queue comes
  /// first: its worker may be at something long while this one never runs out of work.
  job* find(worker& w) noexcept {
    const std::uint32_t tick = w.tick++;
    if (tick % 64 == 63) {
      if (job* j = steal(w)) return j;
    }
    if ((tick & 1) != 0) {
      if (job* j = injector_.pop()) return j;
    }
    if (job* j = w.queue.pop()) return j;
    return injector_.pop();
  }

  job* steal(worker& thief) noexcept {
    const std::size_t n = workers_.size();
    thief.random = thief.random * 1664525u + 1013904223u;
    const std::size_t start = thief.random % n;
    for (std::size_t i = 0; i < n; ++i) {
      worker& victim = *workers_[(start + i) % n];
      if (&victim == &thief) continue;
      if (job* j = victim.queue.pop()) {
        thief.stolen.store(thief.stolen.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        return j;
      }
    }
    return nullptr;
  }

  basic_event_count<Atomics> idle_;
  basic_injector<Atomics> injector_;
  atomic<bool> stopping_{false};
  std::vector<std::unique_ptr<worker>> workers_;
};

using run_queues = basic_run_queues<>;

}  // namespace wick::detail
