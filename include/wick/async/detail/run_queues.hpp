/// \file
/// The run queues: each worker's own, the shared one, and where workers sleep that find nothing in any of
/// them.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <wick/async/detail/event_count.hpp>
#include <wick/async/detail/injector.hpp>
#include <wick/async/detail/job.hpp>
#include <wick/async/detail/sharing_record.hpp>
#include <wick/async/detail/steal_queue.hpp>
#include <wick/async/detail/visitors.hpp>
#include <wick/base/detail/duration.hpp>
#include <wick/base/detail/futex.hpp>
#include <wick/base/detail/owned.hpp>

namespace wick::inline v0_1::detail {

/// All of the executor but its threads: which worker gets which job, and when workers sleep. post and stop:
/// any thread. next: one thread a worker number. A posted job is handed out once, and does not stay queued
/// while a worker sleeps that could take it; a worker's own job may, for as long as others nap, 0.8 ms at
/// most (see sharing_record). Writes before post are visible to the thread that gets the job.
template <class Atomics = std_atomics>
class basic_run_queues {
 public:
  /// \param patience  how often it must have been no use to be awake, in a row, before workers nap
  basic_run_queues(std::size_t workers, std::size_t capacity, std::uint32_t patience = 4)
      : sharing_(patience) {
    workers_.reserve(workers);
    for (std::size_t i = 0; i < workers; ++i) {
      workers_.push_back(make_owned<worker>(capacity, static_cast<std::uint32_t>(i * 0x9E3779B9u + 1)));
    }
  }

  std::size_t workers() const noexcept { return workers_.size(); }

  /// `from`: the number of the worker that calls, or anything higher.
  void post(job* j, std::size_t from) noexcept {
    if (from >= workers_.size()) {
      posters_.enter();
      injector_.push(j);
      idle_.notify();
      posters_.leave();
      return;
    }
    if (!workers_[from]->queue.push(j)) injector_.push(j);
    // The only worker there is would be awake, and would look once more before it sleeps.
    if (workers_.size() > 1 && idle_.notify_unless_napping()) sharing_.woke(Atomics::now());
  }

  /// The next job of worker `number`; sleeps while there is none. Null after stop(), when there is nothing
  /// anywhere.
  job* next(std::size_t number) noexcept {
    worker& w = *workers_[number];
    if (job* j = find(w)) return j;
    idle_.begin_search();
    bool leaves_the_workers_theirs = false;
    if (w.taken != 0) {
      sharing_.took(std::exchange(w.taken, 0), Atomics::now() - w.taken_at);
      leaves_the_workers_theirs = naps(w);
    }
    for (bool idle = false;; leaves_the_workers_theirs = false) {
      if (!leaves_the_workers_theirs) {
        job* j = steal_some(w);
        if (j == nullptr) j = injector_.pop();
        if (j != nullptr) {
          w.empty_naps = 0;
          if (idle_.found([this] { return anything(); })) sharing_.woke(Atomics::now());
          return j;
        }
        if (!std::exchange(idle, true)) sharing_.idle(&Atomics::now);
      }
      idle_.retire();
      if (!rest(w, leaves_the_workers_theirs)) return nullptr;
    }
  }

  /// A job for worker `number`, which calls while it is in another; null when there is none.
  job* poll(std::size_t number) noexcept {
    worker& w = *workers_[number];
    if (job* j = find(w)) return j;
    return steal(w);
  }

  /// From now on next returns null instead of sleeping.
  void stop() noexcept {
    stopping_.store(true, std::memory_order_release);
    idle_.notify_all();
  }

  /// To be called before it is destroyed, after the workers' last call: post() from outside may be under way
  /// still, though its job has run.
  void wait_for_posters() noexcept { posters_.wait_until_gone(); }

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
  static constexpr std::size_t max_taken = 8;
  static constexpr std::uint32_t max_empty_naps = 4;

  struct alignas(64) worker {
    worker(std::size_t capacity, std::uint32_t seed) : queue(capacity), random(seed) {}
    steal_queue<job, Atomics> queue;
    std::atomic<std::uint64_t> stolen{0};  // only for reports
    std::uint32_t random;
    std::uint32_t tick = 0;
    std::uint32_t empty_naps = 0;          // in a row
    std::size_t taken = 0;                 // jobs of another's that it runs, or has run
    std::chrono::nanoseconds taken_at{0};  // when it began
  };

  bool naps(const worker& w) const noexcept {
    return workers_.size() > 1 && sharing_.in_vain() && w.empty_naps < max_empty_naps;
  }
  /// Of one that has retired: looks once more, naps and sleeps, until it has reason to search again. False
  /// after the stop, when there is nothing more.
  bool rest(worker& w, bool leaves_the_workers_theirs) noexcept {
    for (;; leaves_the_workers_theirs = false) {
      const bool nap = naps(w);
      if (nap) idle_.begin_nap();
      // Before the look: a worker that sees the stop also sees jobs posted before it, and must not leave any.
      const bool stopping = stopping_.load(std::memory_order_acquire);
      const bool there = nap && leaves_the_workers_theirs ? !injector_.empty() : anything();
      if (there || stopping) {
        if (nap) idle_.end_nap();
        idle_.cancel();
        if (!there) idle_.found();
        return there;
      }
      if (!nap) {
        idle_.sleep();
        return true;
      }
      ++w.empty_naps;
      if (idle_.nap(sharing_.nap())) return true;
    }
  }

  /// Own and shared queue take turns, so that neither can starve the other. And once in 64 turns another's
  /// queue comes first: its worker may be at something long while this one never runs out of work.
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

  /// Another's oldest job, from a random one on.
  job* steal(worker& thief) noexcept {
    job* one;
    return steal_from_any(thief, &one, 1) != 0 ? one : nullptr;
  }
  /// Some of another's jobs: gives one back, the others lie in the own queue, which is empty. A job at a time
  /// would cost more than a short job does: each of the two takes the head of the queue from the other's
  /// cache.
  job* steal_some(worker& thief) noexcept {
    std::array<job*, max_taken> jobs;
    const std::size_t n = steal_from_any(thief, jobs.data(), std::min(max_taken, thief.queue.capacity() + 1));
    if (n == 0) return nullptr;
    thief.taken = n;
    thief.taken_at = Atomics::now();
    for (std::size_t i = 1; i < n; ++i) thief.queue.push(jobs[i]);
    return jobs[0];
  }
  std::size_t steal_from_any(worker& thief, job** to, std::size_t most) noexcept {
    const std::size_t n = workers_.size();
    thief.random = thief.random * 1664525u + 1013904223u;
    const std::size_t start = thief.random % n;
    for (std::size_t i = 0; i < n; ++i) {
      worker& victim = *workers_[(start + i) % n];
      if (&victim == &thief) continue;
      if (const std::size_t got = victim.queue.pop_half(to, most)) {
        thief.stolen.store(thief.stolen.load(std::memory_order_relaxed) + got, std::memory_order_relaxed);
        return got;
      }
    }
    return 0;
  }

  basic_event_count<Atomics> idle_;
  sharing_record sharing_;
  basic_injector<Atomics> injector_;
  // A line of its own: each post from outside writes it, and workers read what follows all the time.
  alignas(64) basic_visitors<Atomics> posters_;
  alignas(64) atomic<bool> stopping_{false};
  std::vector<owned<worker>> workers_;
};

using run_queues = basic_run_queues<>;

}  // namespace wick::detail
