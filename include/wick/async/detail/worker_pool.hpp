/// \file
/// What the engine needs of an executor: its queues, its threads, their slots, and what they are doing.
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

/// For what it does see wick::executor, which is made of it.
class worker_pool {
 public:
  explicit worker_pool(const executor_options& options);
  worker_pool(const worker_pool&) = delete;
  worker_pool& operator=(const worker_pool&) = delete;

  /// How many there are; a helping training loop is not among them.
  std::size_t workers() const noexcept { return workers_; }
  /// Workers, and the places for threads that help (see helper): the number of slots a
  /// worker_local needs.
  std::size_t slots() const noexcept { return workers() + max_helpers; }
  /// Where blocking calls go.
  io_pool& io() noexcept { return io_; }
  /// Reads that it is of use to have under way at a time, by I/O threads and by object
  /// stores.
  std::size_t reads_at_a_time() const noexcept {
    return io_.threads() + store_reads_.load(std::memory_order_relaxed);
  }
  /// For object stores, whose reads take no thread: how many they make at a time.
  void set_store_reads(std::size_t at_a_time) noexcept {
    store_reads_.store(at_a_time, std::memory_order_relaxed);
  }
  /// Wakes coroutines at a given time; see sleep_for.
  timer_queue& timers() noexcept { return timers_; }

  /// Queues a job. Any thread; writes before it are visible to the job. From a worker it goes to the worker's
  /// own queue. The job must live until it has run, and is run exactly once; it must not throw. \throws
  /// std::logic_error in a forked child, nothing elsewhere
  void post(job* j);

  /// True in a forked child, where no thread would run a job.
  bool forked() const noexcept { return born_.elsewhere(); }
  /// For a caller that is about to wait for a worker. \throws std::logic_error in a forked child
  void require_workers() const { born_.require_same("an executor (or a loader or scope on it) was used"); }

  /// Whether the calling thread is one on which work of this executor waits: a worker, a
  /// thread that helps (see helper), or an I/O thread.
  bool owns_this_thread() const noexcept { return this_slot() != none || io_.has_this_thread(); }
  /// For a caller that makes its thread wait for this executor. \throws std::logic_error with what to write
  /// instead, on a thread of the executor's own: no other might be left to do the work
  void require_outside(const char* call, const char* instead) const {
    if (this_slot() != none) refuse(call, "a worker of the executor", instead);
    if (io_.has_this_thread()) refuse(call, "an I/O thread of the executor", instead);
  }

  /// What schedule() gives; to be awaited, once.
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
  /// The number of the calling thread among this executor's slots; `none` for a foreign
  /// thread. Not to be kept over a suspension.
  std::size_t this_slot() const noexcept {
    const identity& me = self();
    return me.of == this ? me.slot : none;
  }

  /// Lends a slot to the calling thread, so that it may run samples while it would only wait.
  /// False when all are lent. Made and destroyed on the same thread, nested like scopes; its writes are
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

  /// Of two calls of this, or ends of a helper, the later one sees the writes before the
  /// earlier one.
  void order_with_helpers() noexcept { helpers_.fetch_or(0, std::memory_order_acq_rel); }

  /// Whether jobs or calls may wait for the calling thread, a worker or one of io().
  bool must_not_block() const noexcept { return this_slot() < workers() || io_.has_this_thread(); }
  /// For a wait on such a thread, which would stop all jobs if each did the same: runs a job, or a call, that
  /// waits for one, on top of what calls. False when there is none, and on any other thread.
  bool run_one() noexcept;

  /// For a job that divides its work: whether so much is in the calling worker's own queue that others
  /// find something for a while; false on any other thread.
  bool queue_is_long() const noexcept;
  /// A hint for a long job that could make room by posting its rest: whether any job waits
  /// for a worker.
  bool job_waits() const noexcept;
  /// Jobs that were taken from another worker's queue, so far.
  std::uint64_t stolen() const noexcept;
  /// Whether the executor is at rest, and stays so by itself: no job is queued or run, no
  /// blocking call is under way, no coroutine sleeps for a time. Of this moment, and not exact: two looks in
  /// a row say more than one.
  bool at_rest() const noexcept;
  /// Processor time that each worker has taken so far, in seconds; 0 where the system doesn't say.
  std::vector<double> worker_seconds() const;
  /// The users of the workers, for reports.
  detail::tenants& tenants() noexcept { return tenants_; }
  /// Workers asleep at this moment: a number that may be old when it is looked at.
  std::size_t asleep() const noexcept;
  /// For messages: the worker that runs what this is of at this moment; `none` where no worker does. `of` is
  /// only compared.
  std::size_t worker_at(const activity* of) const noexcept;
  /// For messages: the system's number of a worker's thread; 0 where that isn't known.
  int thread_of(std::size_t worker) const noexcept;

 protected:
  /// Runs the queued jobs, the jobs that those post, and the calls that io() has under way. Scopes must be
  /// gone. Waits for threads that are in post() still, though their job has run.
  ~worker_pool();

 private:
  static constexpr std::size_t max_helpers = 8;
  static constexpr int unbound = std::numeric_limits<int>::min();

  /// With pin_to, one a worker.
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
  std::size_t workers_ = 0;
  owned<queues> queues_;
  std::atomic<std::uint32_t> helpers_{0};
  std::atomic<std::size_t> store_reads_{0};
  detail::tenants tenants_;
  owned<threads> threads_;
  io_pool io_;
  timer_queue timers_;
};

}  // namespace detail

}  // namespace wick
