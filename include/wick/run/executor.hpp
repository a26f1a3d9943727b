/// \file
/// The workers: threads that run jobs, steal from one another when they have none, and sleep when nobody has.
#pragma once

#include <algorithm>
#include <atomic>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <wick/run/cpus.hpp>
#include <wick/run/detail/resume.hpp>
#include <wick/run/detail/run_queues.hpp>
#include <wick/run/detail/thread_name.hpp>
#include <wick/run/io_pool.hpp>
#include <wick/run/job.hpp>

namespace wick {

struct executor_options {
  std::size_t workers = 0;         ///< 0: available_cpus()
  std::size_t io_threads = 0;      ///< for calls that block; 0: twice the workers, at least 4, at most 32
  std::size_t queue_capacity = 256;  ///< of each worker's own queue; more goes to the shared one
  std::string name = "wick";       ///< of the threads, as top shows them
};

/// A pool of workers. Each has a bounded FIFO queue of its own; outside submissions and overflow go to a shared one,
/// which every worker looks at between any two jobs. A worker must not block: what waits suspends (see io()).
///
/// post and schedule: any thread. What was written before post is visible to the job. One worker takes the jobs from
/// outside in their order, and its own in theirs as long as they fit in its queue; between the two, and between
/// workers, there is no order.
///
/// The destructor runs what is queued, what that posts, and what io() has under way; a blocking call that begins
/// after it has is refused with an exception. Loaders and scopes that use the executor must be gone before, and calls
/// of post from other threads must have returned. Not on a worker. It is neither copied nor moved: workers point into
/// it.
class executor {
 public:
  explicit executor(executor_options options = {});
  explicit executor(std::size_t workers) : executor(executor_options{.workers = workers}) {}
  executor(const executor&) = delete;
  executor& operator=(const executor&) = delete;
  ~executor();

  std::size_t workers() const noexcept { return queues_.workers(); }
  /// Workers, and the places for threads that help (see helper): the number of slots a worker_local needs.
  std::size_t slots() const noexcept { return workers() + max_helpers; }
  /// Where blocking calls go.
  io_pool& io() noexcept { return io_; }

  /// Queues a job. From a worker it goes to the worker's own queue. The job must live until it has run, and is run
  /// exactly once; it must not throw.
  void post(job* j) noexcept;

  /// `co_await ex.schedule();` continues on a worker.
  class [[nodiscard]] schedule_awaiter : job {
   public:
    explicit schedule_awaiter(executor& on) noexcept : on_(on) {}
    bool await_ready() const noexcept { return false; }
    [[gnu::noinline]] void await_suspend(std::coroutine_handle<> handle) noexcept {
      handle_ = handle;
      execute = [](job* j) noexcept { detail::resume(static_cast<schedule_awaiter*>(j)->handle_); };
      on_.post(this);
    }
    void await_resume() const noexcept {}

   private:
    executor& on_;
    std::coroutine_handle<> handle_;
  };
  schedule_awaiter schedule() noexcept { return schedule_awaiter(*this); }

  static constexpr std::size_t none = ~std::size_t{0};
  /// The number of the calling thread among this executor's slots; `none` for a foreign thread. Not to be kept over a
  /// suspension.
  std::size_t this_slot() const noexcept {
    const identity& me = self();
    return me.of == this ? me.slot : none;
  }

  /// Lends a slot to the calling thread, so that it may run samples while it would only wait. False when all are
  /// lent. Made and destroyed on the same thread, nested like scopes; who gets the slot next sees what was done in
  /// it. What a helper posts goes to the shared queue.
  class helper {
   public:
    explicit helper(executor& ex) noexcept;
    helper(const helper&) = delete;
    helper& operator=(const helper&) = delete;
    ~helper();
    explicit operator bool() const noexcept { return slot_ != none; }

   private:
    executor& ex_;
    std::size_t slot_ = none;
    const executor* outer_of_ = nullptr;
    std::size_t outer_slot_ = none;
  };

  /// Jobs that were taken from another worker's queue, so far.
  std::uint64_t stolen() const noexcept { return queues_.stolen(); }
  /// Workers asleep at this moment: a number that may be old when it is looked at.
  std::size_t asleep() const noexcept { return queues_.asleep(); }

 private:
  static constexpr std::size_t max_helpers = 8;

  struct identity {
    const executor* of = nullptr;
    std::size_t slot = none;
  };
  [[gnu::noinline]] static identity& self() noexcept {
    thread_local identity me;
    return me;
  }

  void work(std::size_t number) noexcept;

  detail::run_queues queues_;
  std::atomic<std::uint32_t> helpers_{0};
  std::vector<std::thread> workers_;
  io_pool io_;
};

inline executor::executor(executor_options options)
    : queues_(options.workers != 0 ? options.workers : available_cpus(), options.queue_capacity),
      io_(options.io_threads != 0 ? options.io_threads
                                  : std::min<std::size_t>(
                                        32, std::max<std::size_t>(
                                                4, 2 * (options.workers != 0 ? options.workers : available_cpus())))) {
  const std::size_t n = options.workers != 0 ? options.workers : available_cpus();
  workers_.reserve(n);
  try {
    for (std::size_t i = 0; i < n; ++i) {
      workers_.emplace_back([this, i, name = options.name] {
        detail::name_this_thread(name.c_str(), i);
        work(i);
      });
    }
  } catch (...) {  // no more threads to be had: those that started must be joined
    queues_.stop();
    for (std::thread& w : workers_) w.join();
    throw;
  }
}

inline executor::~executor() {
  io_.stop();  // what it still has is done, and posts its continuations here
  queues_.stop();
  for (std::thread& w : workers_) w.join();
}

inline void executor::post(job* j) noexcept {
  const identity& me = self();
  queues_.post(j, me.of == this ? me.slot : none);
}

inline void executor::work(std::size_t number) noexcept {
  self() = {this, number};
  while (job* const j = queues_.next(number)) j->execute(j);
}

inline executor::helper::helper(executor& ex) noexcept : ex_(ex) {
  std::uint32_t taken = ex.helpers_.load(std::memory_order_relaxed);
  for (;;) {
    std::size_t i = 0;
    while (i < max_helpers && ((taken >> i) & 1u) != 0) ++i;
    if (i == max_helpers) return;
    if (ex.helpers_.compare_exchange_weak(taken, taken | (1u << i), std::memory_order_acq_rel)) {
      slot_ = ex.workers() + i;
      break;
    }
  }
  identity& me = self();
  outer_of_ = me.of;
  outer_slot_ = me.slot;
  me = {&ex, slot_};
}

inline void detail::post_to(executor& on, job* j) noexcept { on.post(j); }

inline executor::helper::~helper() {
  if (slot_ == none) return;
  self() = {outer_of_, outer_slot_};
  ex_.helpers_.fetch_and(~(1u << (slot_ - ex_.workers())), std::memory_order_acq_rel);
}

}  // namespace wick
