// Threads for calls that block, so that workers never do.
#pragma once

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include <wick/async/detail/activity.hpp>
#include <wick/async/detail/concurrency.hpp>
#include <wick/async/detail/job.hpp>
#include <wick/async/detail/resume.hpp>
#include <wick/base/detail/cpu_set.hpp>
#include <wick/base/detail/owned.hpp>
#include <wick/base/detail/process.hpp>
#include <wick/base/detail/ticks.hpp>

namespace wick::inline v0_1 {

class executor;

namespace detail {
inline void post_to(executor& on, job* j) noexcept;
}

namespace detail {

/// A FIFO queue and threads that start with the first call and are kept. `co_await io.run(ex, f)` runs f() on
/// one of them and continues on a worker of `ex` with its result or exception. Writes before the call are
/// visible to f, and f's writes to the coroutine that continues. The number of calls at a time is given, or
/// follows goodput: see concurrency.
///
/// The threads aren't workers: this_slot() and worker_local don't know them. They may run on the processors
/// of the thread that made the pool, whichever thread makes the first call, and take no signals from outside
/// (see executor). The destructor calls stop(); in a forked child, where the threads don't exist, both do
/// nothing.
class io_pool {
 public:
  explicit io_pool(std::size_t threads) : io_pool(concurrency(threads, threads, threads)) {}
  explicit io_pool(const concurrency& at_a_time);
  io_pool(const io_pool&) = delete;
  io_pool& operator=(const io_pool&) = delete;
  ~io_pool();

  /// The most calls that run at a time: now, and ever.
  std::size_t threads() const noexcept { return limit_.load(std::memory_order_relaxed); }
  std::size_t most_threads() const noexcept { return most_; }
  /// Whether the pool itself finds how many calls to run at a time.
  bool chooses_threads() const noexcept { return chooses_; }
  /// What the threads have used so far, in seconds: in calls that have ended, and of processor time (0 if the
  /// system doesn't say).
  struct usage {
    double calls = 0, processor = 0;
  };
  usage used() const;
  /// Whether no call is queued or under way.
  bool at_rest() const noexcept;
  /// Whether the calling thread belongs to this pool.
  bool has_this_thread() const noexcept { return mine().of == shared_.get(); }

  /// Any thread. \throws std::system_error if the threads can't be started, std::logic_error after stop() and
  /// in a forked child, where no thread would run the job
  void post(job* j);

  /// Runs the first queued call, for a thread of the pool that waits for other calls. Returns false if there
  /// is none.
  bool run_one() noexcept;

  /// Runs the queued calls, then ends the threads; post throws from now on. For the executor; one thread at a
  /// time.
  void stop() noexcept;

  template <class F>
  class [[nodiscard]] run_awaiter : job {
    using result = std::invoke_result_t<F&>;

   public:
    run_awaiter(io_pool& io, executor& on, F f) : io_(io), on_(on), f_(std::move(f)) {}
    bool await_ready() const noexcept { return false; }
    [[gnu::noinline]] void await_suspend(std::coroutine_handle<> handle) {
      handle_ = handle;
      execute = [](job* j) noexcept {
        auto* self = static_cast<run_awaiter*>(j);
        const std::uint64_t begun = now_ticks();
        self->wait_.calls(mine().number);
        try {
          if constexpr (std::is_void_v<result>)
            self->f_();
          else
            self->value_.emplace(self->f_());
        } catch (...) {
          self->exception_ = std::current_exception();
        }
        self->wait_.called(begun, mine().number);
        self->wait_.now(wait_for::worker);
        self->execute = [](job* back) noexcept { detail::resume(static_cast<run_awaiter*>(back)->handle_); };
        detail::post_to(self->on_, j);
      };
      wait_.begin(wait_for::io_thread);
      try {
        io_.post(this);
      } catch (...) {
        wait_.end();
        throw;
      }
    }
    result await_resume() {
      wait_.end();
      if (exception_) std::rethrow_exception(std::move(exception_));
      if constexpr (!std::is_void_v<result>) return std::move(*value_);
    }

   private:
    struct nothing {};
    io_pool& io_;
    executor& on_;
    F f_;
    std::coroutine_handle<> handle_;
    noted_wait wait_;
    std::conditional_t<std::is_void_v<result>, nothing, std::optional<result>> value_;
    std::exception_ptr exception_;
  };

  /// For any coroutine. `f` is moved into its frame and called once, on another thread, when the result is
  /// awaited; it returns a value or void. Awaiting throws what f or post throws.
  template <class F>
  run_awaiter<F> run(executor& on, F f) {
    return {*this, on, std::move(f)};
  }

 private:
  struct shared;

  /// Starts as many threads as allowed at the first call; later, one more if calls wait and the limit allows
  /// it. Under the mutex.
  void grow();
  void start_one();
  /// The calling thread's pool (null if it belongs to none), and its number there.
  struct membership {
    const shared* of = nullptr;
    std::uint32_t number = 0;
  };
  [[gnu::noinline]] static membership& mine() noexcept;
  void work(shared& s) noexcept;

  const std::size_t most_;
  const bool chooses_;
  std::atomic<std::size_t> limit_;
  const detail::process_mark born_;
  const detail::cpu_set cpus_ = detail::cpu_set::of_this_thread();
  owned<shared> shared_;
};

}  // namespace detail

}  // namespace wick
