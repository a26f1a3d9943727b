/// \file
/// Threads for calls that block, so that workers never do.
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

/// A FIFO queue and threads, started with the first call and kept. `co_await io.run(ex, f)` runs f() on one
/// of them and continues on a worker of `ex` with its result or exception. Writes before the call are visible
/// to f, and writes of f to the coroutine that continues. How many calls run at a time is given, or follows
/// goodput: see concurrency.
///
/// The threads are no workers: this_slot() and worker_local know nothing of them. They may run on the
/// processors that the thread which made the pool may run on, whichever thread makes the first call, and take
/// no signals from outside (see executor). The destructor is stop(); in a forked child, which has none of the
/// threads, both do nothing.
class io_pool {
 public:
  explicit io_pool(std::size_t threads) : io_pool(concurrency(threads, threads, threads)) {}
  explicit io_pool(const concurrency& at_a_time);
  io_pool(const io_pool&) = delete;
  io_pool& operator=(const io_pool&) = delete;
  ~io_pool();

  /// Calls that run at a time, at most: now, and ever.
  std::size_t threads() const noexcept { return limit_.load(std::memory_order_relaxed); }
  std::size_t most_threads() const noexcept { return most_; }
  /// Whether it finds out itself how many calls run at a time.
  bool chooses_threads() const noexcept { return chooses_; }
  /// What the threads have done so far, in seconds: in calls (those that have ended), and of processor time
  /// (0 where the system doesn't say).
  struct usage {
    double calls = 0, processor = 0;
  };
  usage used() const;
  /// Whether no call is queued or under way.
  bool at_rest() const noexcept;
  /// Whether the calling thread is one of these.
  bool has_this_thread() const noexcept { return mine().of == shared_.get(); }

  /// Any thread. \throws std::system_error when the threads can't be started, std::logic_error after stop()
  /// and in a forked child: no thread would run the job.
  void post(job* j);

  /// Runs the first call that is queued, for a thread of these that waits for others' calls. False: there is
  /// none.
  bool run_one() noexcept;

  /// Does what is queued, then ends the threads; post throws from now on. For the executor; by one thread at
  /// a time.
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

  /// Any coroutine. `f` is moved into its frame and called once, on another thread, when the result is
  /// awaited; it returns a value or nothing. Awaiting throws what f threw, and what post throws.
  template <class F>
  run_awaiter<F> run(executor& on, F f) {
    return {*this, on, std::move(f)};
  }

 private:
  struct shared;

  /// As many threads as may be, with the first call; then one more where calls wait and it may be. Under the
  /// mutex.
  void grow();
  void start_one();
  /// Of the calling thread: its pool, null where it is of none, and its number there.
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
