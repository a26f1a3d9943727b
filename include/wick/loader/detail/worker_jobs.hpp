// The jobs on the executor that run a loader's samples, as many at a time as are useful.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include <wick/async/executor.hpp>
#include <wick/base/detail/clock.hpp>
#include <wick/base/detail/condition.hpp>
#include <wick/base/detail/cpus.hpp>

namespace wick::inline v0_1::detail {

class scheduler;

/// Why worker jobs are put away, in ticks summed over them.
struct idle_ticks {
  std::uint64_t samples = 0;  ///< all samples that may be under way are waiting
  std::uint64_t order = 0;    ///< all batches ahead are begun, and the oldest isn't ready
  std::uint64_t loop = 0;     ///< the oldest is ready, but wasn't taken
};

/// The figures of a loader that a report needs.
struct scheduler_figures {
  std::size_t prefetch = 1;     ///< batches ahead
  std::uint64_t in_flight = 0;  ///< samples under way at a time; 0: as many as workers
  std::uint64_t at_a_time = 1;  ///< samples that a worker claims at a time
  bool loop_helps = false;      ///< the waiting loop may run samples
  bool chooses_in_flight = true;
  idle_ticks idle;
};

/// A worker job claims runs of samples on a worker, by scheduler::run_worker(); then it posts itself again,
/// or is put away. There are as many as workers. A consumer that helps (see loader) counts as one of them
/// while it occupies a processor, since three threads on two processors only take turns, and so do their
/// caches.
///
/// Call idle, taken, start, put_away, all_away, and wait_all_away under the owner's mutex; any thread may
/// call the rest, unless it says otherwise.
class worker_jobs {
 public:
  struct worker_job : job {
    scheduler* of = nullptr;
  };

  worker_jobs(scheduler& of, executor& on)
      : on_(on),
        jobs_(on.workers()),
        beside_consumer_(std::clamp<std::size_t>(available_cpus(), 2, jobs_.size() + 1) - 1) {
    free_.reserve(jobs_.size());
    for (worker_job& p : jobs_) {
      p.of = &of;
      p.execute = execute_one;
      free_.push_back(&p);
    }
    idle_.store(free_.size(), std::memory_order_relaxed);
  }
  worker_jobs(const worker_jobs&) = delete;
  worker_jobs& operator=(const worker_jobs&) = delete;

  idle_ticks idle() noexcept {
    count(now_ticks(), samples_wait_ ? spent_.samples : spent_.loop);
    return spent_;
  }
  /// The approximate number at work.
  std::size_t at_work() const noexcept { return jobs_.size() - idle_.load(std::memory_order_relaxed); }
  /// A batch that has been ready since `ready_since` was taken: others can be begun.
  void taken(std::uint64_t ready_since) noexcept {
    if (!samples_wait_) count(ready_since, spent_.order);
    count(now_ticks(), samples_wait_ ? spent_.samples : spent_.loop);
  }

  /// Starts one more, if may_start(); that one starts the next.
  void start() noexcept {
    count(now_ticks(), samples_wait_ ? spent_.samples : spent_.order);
    worker_job* const p = free_.back();
    free_.pop_back();
    idle_.store(free_.size(), std::memory_order_relaxed);
    on_.post(p);
  }
  /// `samples_wait`: there are positions to claim, but too many samples are under way.
  void put_away(worker_job* p, bool samples_wait) noexcept {
    count(now_ticks(), samples_wait_ ? spent_.samples : spent_.order);
    samples_wait_ = samples_wait;
    free_.push_back(p);
    idle_.store(free_.size(), std::memory_order_relaxed);
    if (working() == 0) all_away_.notify_all();
  }
  bool all_away() const noexcept { return working() == 0; }
  void wait_all_away(std::unique_lock<std::mutex>& lock) {
    all_away_.wait(lock, [&] { return working() == 0; });
  }

  /// A hint: false when all are at work, or as many as the consumer leaves room for.
  bool may_start() const noexcept {
    const std::size_t idle = idle_.load(std::memory_order_relaxed);
    return idle != 0 && (jobs_.size() - idle < beside_consumer_ || !consumer_helps());
  }
  /// A hint: whether more are at work than the consumer leaves room for.
  bool too_many() const noexcept {
    return jobs_.size() - idle_.load(std::memory_order_relaxed) > beside_consumer_ && consumer_helps();
  }
  /// Whether the consumer has just run samples; it does so again unless something else keeps it busy.
  bool consumer_helps() const noexcept {
    // Signed: two processors' clocks may differ by a little.
    return static_cast<std::int64_t>(now_ticks() - helped_.load(std::memory_order_relaxed)) < away_ticks();
  }
  /// Called by the consumer while it runs samples.
  void helped() noexcept { helped_.store(now_ticks(), std::memory_order_relaxed); }
  /// Called by the consumer, before it sleeps, under the mutex.
  void helps_no_more() noexcept { helped_.store(0, std::memory_order_relaxed); }
  /// Called by the consumer. The time doesn't matter: another thread may have relied on the help.
  bool has_helped() const noexcept { return helped_.load(std::memory_order_relaxed) != 0; }

 private:
  static void execute_one(job* j) noexcept;
  static std::int64_t away_ticks() noexcept { return std::int64_t(in_ticks(500'000)); }  // about 200 µs

  std::size_t working() const noexcept { return jobs_.size() - free_.size(); }
  /// Charges the time that jobs were idle, up to `until`, to `why`.
  void count(std::uint64_t until, std::uint64_t& why) noexcept {
    if (static_cast<std::int64_t>(until - since_) <= 0) return;
    if (since_ != 0) why += (until - since_) * free_.size();
    since_ = until;
  }

  executor& on_;
  std::vector<worker_job> jobs_;
  const std::size_t beside_consumer_;
  std::vector<worker_job*> free_;
  condition all_away_;
  idle_ticks spent_;
  std::uint64_t since_ = 0;
  bool samples_wait_ = false;
  alignas(64) std::atomic<std::size_t> idle_{0};
  alignas(64) std::atomic<std::uint64_t> helped_{0};
};

}  // namespace wick::detail
