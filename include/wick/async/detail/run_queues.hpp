// The run queues: each worker's own, the shared one, and the place where workers sleep when all are empty.
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

/// The executor without its threads: which worker gets which job, and when workers sleep. post and stop: any
/// thread. next: one thread per worker number. A posted job is handed out once, and doesn't stay queued while
/// a worker that could take it sleeps; a worker's own job may stay queued as long as others nap, 0.8 ms at
/// most (see sharing_record). Writes before post are visible to the thread that gets the job.
template <class Atomics = std_atomics>
class basic_run_queues {
 public:
  /// \param patience  how often in a row it must have been no use to be awake before workers nap
  basic_run_queues(std::size_t workers, std::size_t capacity, std::uint32_t patience = 4)
      : sharing_(patience) {
    workers_.reserve(workers);
    for (std::size_t i = 0; i < workers; ++i) {
      workers_.push_back(make_owned<worker>(capacity, static_cast<std::uint32_t>(i * 0x9E3779B9u + 1)));
    }
  }

  std::size_t workers() const noexcept { return workers_.size(); }

  /// `from`: the number of the calling worker, or anything higher for other threads.
  void post(job* j, std::size_t from) noexcept {
    if (from >= workers_.size()) {
      posters_.enter();
      injector_.push(j);
      idle_.notify();
      posters_.leave();
      return;
    }
    if (!workers_[from]->queue.push(j)) injector_.push(j);
    // A single worker would be awake, and would look once more before it sleeps.
    if (workers_.size() > 1 && idle_.notify_unless_napping()) sharing_.woke(Atomics::now());
  }

  /// The next job for worker `number`; sleeps while there is none. Returns null after stop(), when all queues
  /// are empty.
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

  /// A job for worker `number`, which calls this from within another job; null if there is none.
  job* poll(std::size_t number) noexcept {
    worker& w = *workers_[number];
    if (job* j = find(w)) return j;
    return steal(w);
  }

  /// From now on, next returns null instead of sleeping.
  void stop() noexcept {
    stopping_.store(true, std::memory_order_release);
    idle_.notify_all();
  }

  /// Call it before destruction, after the workers' last call: a post() from outside may still be under way
  /// although its job has run.
  void wait_for_posters() noexcept { posters_.wait_until_gone(); }

  /// Whether eight jobs or more, or as many as fit, are in the own queue of worker `number`, the caller.
  bool is_long(std::size_t number) const noexcept {
    const auto& queue = workers_[number]->queue;
    return queue.size() >= std::min<std::size_t>(8, queue.capacity());
  }
  /// Whether worker `number`, which calls this from within a long job, should let another job run: one is in
  /// its own queue, in the shared one, or in that of another worker. Each call looks at one other worker, so
  /// that the cost doesn't grow with their number; if it has a job, the caller looks into other queues before
  /// its own the next time.
  bool should_yield(std::size_t number) noexcept {
    worker& w = *workers_[number];
    if (!w.queue.empty() || !injector_.empty()) return true;
    const std::size_t other = random_worker(w);
    if (other == number || workers_[other]->queue.empty()) return false;
    w.tick |= others_first;
    return true;
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
  static constexpr std::uint32_t others_first = 63;  // of the low bits of `tick`

  struct alignas(64) worker {
    worker(std::size_t capacity, std::uint32_t seed) : queue(capacity), random(seed) {}
    steal_queue<job, Atomics> queue;
    std::atomic<std::uint64_t> stolen{0};  // only for reports
    std::uint32_t random;
    std::uint32_t tick = 0;
    std::uint32_t empty_naps = 0;          // in a row
    std::size_t taken = 0;                 // jobs taken from another worker, running or done
    std::chrono::nanoseconds taken_at{0};  // when they were taken
  };

  std::size_t random_worker(worker& for_whom) const noexcept {
    for_whom.random = for_whom.random * 1664525u + 1013904223u;
    return (std::uint64_t{for_whom.random} * workers_.size()) >> 32;
  }
  bool naps(const worker& w) const noexcept {
    return workers_.size() > 1 && sharing_.in_vain() && w.empty_naps < max_empty_naps;
  }
  /// For a worker that has retired: looks once more, naps, and sleeps until it has a reason to search again.
  /// Returns false after the stop, when nothing is left.
  bool rest(worker& w, bool leaves_the_workers_theirs) noexcept {
    for (;; leaves_the_workers_theirs = false) {
      const bool nap = naps(w);
      if (nap) idle_.begin_nap();
      // Read it before the look: a worker that sees the stop also sees the jobs posted before it, and must
      // not leave any.
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

  /// The worker's own queue and the shared one take turns, so that neither can starve the other. Once in 64
  /// turns, another worker's queue comes first: that worker may be in a long job while this one never runs
  /// out of work.
  job* find(worker& w) noexcept {
    const std::uint32_t tick = w.tick++;
    if ((tick & others_first) == others_first) {
      if (job* j = steal(w)) return j;
    }
    if ((tick & 1) != 0) {
      if (job* j = injector_.pop()) return j;
    }
    if (job* j = w.queue.pop()) return j;
    return injector_.pop();
  }

  /// Another worker's oldest job; the search starts at a random worker.
  job* steal(worker& thief) noexcept {
    job* one;
    return steal_from_any(thief, &one, 1) != 0 ? one : nullptr;
  }
  /// Takes several of another worker's jobs: returns one and puts the others into the worker's own queue,
  /// which is empty. One job at a time would cost more than a short job does: the two workers would keep
  /// taking the head of the queue from each other's cache.
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
    const std::size_t n = workers_.size(), start = random_worker(thief);
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
  // A cache line of its own: each post from outside writes it, and workers constantly read the members below.
  alignas(64) basic_visitors<Atomics> posters_;
  alignas(64) atomic<bool> stopping_{false};
  std::vector<owned<worker>> workers_;
};

using run_queues = basic_run_queues<>;

}  // namespace wick::detail
