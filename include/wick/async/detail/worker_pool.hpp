// The parts of an executor that the engine uses: its queues, threads, and slots, and what the threads are
// doing.
#pragma once

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <wick/async/detail/io_pool.hpp>
#include <wick/async/detail/job.hpp>
#include <wick/async/detail/resume.hpp>
#include <wick/async/detail/tenants.hpp>
#include <wick/async/detail/timer_queue.hpp>
#include <wick/base/detail/cpu_set.hpp>
#include <wick/base/detail/futex.hpp>
#include <wick/base/detail/owned.hpp>
#include <wick/base/detail/process.hpp>
#include <wick/base/detail/single_user.hpp>

namespace wick::inline v0_1 {

struct executor_options;

namespace detail {

/// The base of wick::executor, which documents what it does.
class worker_pool {
 public:
  explicit worker_pool(const executor_options& options);
  worker_pool(const worker_pool&) = delete;
  worker_pool& operator=(const worker_pool&) = delete;

  /// The number of workers; a training loop that helps isn't one of them.
  std::size_t workers() const noexcept { return workers_; }
  /// Workers, plus the places for threads that help (see helper): the number of slots that a worker_local
  /// needs.
  std::size_t slots() const noexcept { return workers() + max_helpers; }
  /// The threads for blocking calls.
  io_pool& io() noexcept { return io_; }
  /// How many reads at a time are useful, by I/O threads and object stores together.
  std::size_t reads_at_a_time() const noexcept {
    return io_.threads() + store_reads_.load(std::memory_order_relaxed);
  }
  /// For object stores, whose reads take no thread: how many they make at a time.
  void set_store_reads(std::size_t at_a_time) noexcept {
    store_reads_.store(at_a_time, std::memory_order_relaxed);
  }
  /// Wakes coroutines at a given time; see sleep_for.
  timer_queue& timers() noexcept { return timers_; }

  /// Queues a job. Any thread; writes before it are visible to the job. A worker's jobs go to its own queue.
  /// The job must live until it has run, is run exactly once, and must not throw. \throws std::logic_error in
  /// a forked child, nothing elsewhere
  void post(job* j);

  /// True in a forked child, where no thread would run a job.
  bool forked() const noexcept { return born_.elsewhere(); }
  /// For a caller that is about to wait for a worker. \throws std::logic_error in a forked child
  void require_workers() const { born_.require_same("an executor (or a loader or scope on it) was used"); }

  /// Whether the calling thread is one that this executor's work depends on: a worker, a thread that helps
  /// (see helper), or an I/O thread.
  bool owns_this_thread() const noexcept { return this_slot() != none || io_.has_this_thread(); }
  /// For a caller that makes its thread wait for this executor. \throws std::logic_error that says what to
  /// write instead, on one of the executor's own threads: no other might be left to do the work
  void require_outside(const char* call, const char* instead) const {
    if (this_slot() != none) refuse(call, "a worker of the executor", instead);
    if (io_.has_this_thread()) refuse(call, "an I/O thread of the executor", instead);
  }

  /// The awaiter of schedule(); await it once.
  class [[nodiscard]] schedule_awaiter : job {
   public:
    explicit schedule_awaiter(worker_pool& on) noexcept : on_(on) {}
    bool await_ready() const noexcept { return false; }
    [[gnu::noinline]] void await_suspend(std::coroutine_handle<> handle) {
      handle_ = handle;
      execute = [](job* j) noexcept { resume(static_cast<schedule_awaiter*>(j)->handle_); };
      on_.post(this);
    }
    void await_resume() const noexcept {}

   private:
    worker_pool& on_;
    std::coroutine_handle<> handle_;
  };
  /// `co_await ex.schedule();` continues on a worker.
  schedule_awaiter schedule() noexcept { return schedule_awaiter(*this); }

  static constexpr std::size_t none = ~std::size_t{0};
  /// The calling thread's number among this executor's slots; `none` for a foreign thread. Don't keep it
  /// across a suspension.
  std::size_t this_slot() const noexcept {
    const identity& me = self();
    return me.of == this ? me.slot : none;
  }

  /// Lends a slot to the calling thread, so that it can run samples instead of only waiting. Converts to
  /// false if all are lent. Make and destroy it on the same thread, nested like scopes; its writes are
  /// visible to the next thread with the slot. Jobs that a helper posts go to the shared queue.
  class helper {
   public:
    explicit helper(worker_pool& ex) noexcept;
    helper(const helper&) = delete;
    helper& operator=(const helper&) = delete;
    ~helper();
    explicit operator bool() const noexcept { return slot_ != none; }

   private:
    worker_pool& ex_;
    std::size_t slot_ = none;
    const worker_pool* outer_of_ = nullptr;
    std::size_t outer_slot_ = none;
  };

  /// Of two calls to this, or ends of a helper, the later one sees the writes before the earlier one.
  void order_with_helpers() noexcept { helpers_.fetch_or(0, std::memory_order_acq_rel); }

  /// Whether the calling thread is a worker or one of io()'s threads, so that jobs or calls may be waiting
  /// for it.
  bool must_not_block() const noexcept { return this_slot() < workers() || io_.has_this_thread(); }
  /// For a wait on such a thread, which would stop all jobs if every thread did the same: runs a waiting job
  /// or call on top of the caller. Returns false if there is none, and on any other thread.
  bool run_one() noexcept;

  /// For a job that divides its work: whether the calling worker's own queue holds enough for others to find
  /// something for a while; false on any other thread.
  bool queue_is_long() const noexcept;
  /// For a long job that can post the rest of its work and end: whether another job should run on this worker
  /// first. Call it now and then: see run_queues. False on any other thread.
  bool should_yield() noexcept;
  /// The number of jobs taken from another worker's queue so far.
  std::uint64_t stolen() const noexcept;
  /// Whether the executor is at rest and stays so by itself: no job is queued or running, no blocking call is
  /// under way, and no coroutine sleeps until a given time. A snapshot, and not exact: two looks in a row say
  /// more than one.
  bool at_rest() const noexcept;
  /// The processor time that each worker has used so far, in seconds; 0 if the system doesn't say.
  std::vector<double> worker_seconds() const;
  /// The users of the workers, for reports.
  detail::tenants& tenants() noexcept { return tenants_; }
  /// How many workers are asleep at this moment; the number may already be out of date.
  std::size_t asleep() const noexcept;
  /// For messages: the worker that is running the activity's work at this moment; `none` if no worker is.
  /// `of` is only compared.
  std::size_t worker_at(const activity* of) const noexcept;
  /// For messages: the system's id of a worker's thread; 0 if it isn't known.
  int thread_of(std::size_t worker) const noexcept;

 protected:
  /// Runs the queued jobs, the jobs that those post, and the calls that io() still has. Scopes must be gone.
  /// Waits for threads that are still in post() although their job has run.
  ~worker_pool();

 private:
  static constexpr std::size_t max_helpers = 8;
  static constexpr int unbound = std::numeric_limits<int>::min();

  /// With pin_to, one per worker.
  struct binding {
    wake_flag tried;
    int refused = unbound;
  };
  struct queues;
  struct threads;
  struct identity {
    const worker_pool* of = nullptr;
    std::size_t slot = none;
  };
  static identity& self() noexcept;

  [[noreturn, gnu::noinline]] static void refuse(const char* call, const char* whom, const char* instead);
  static void bind(binding& to, int cpu) noexcept;
  void work(std::size_t number) noexcept;
  void note_thread(std::size_t number) noexcept;
  void end_workers() noexcept;

  const process_mark born_;
  const std::size_t workers_;
  owned<queues> queues_;
  alignas(64) std::atomic<std::uint32_t> helpers_{
      0};  // the consumer writes it, and workers read what is above
  std::atomic<std::size_t> store_reads_{0};
  detail::tenants tenants_;
  owned<threads> threads_;
  io_pool io_;
  timer_queue timers_;
};

}  // namespace detail

}  // namespace wick
