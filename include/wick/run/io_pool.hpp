/// \file
/// Threads for calls that block, so that workers never do.
#pragma once

#include <condition_variable>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <wick/run/detail/resume.hpp>
#include <wick/run/detail/thread_name.hpp>
#include <wick/run/job.hpp>

namespace wick {

class executor;

namespace detail {
inline void post_to(executor& on, job* j) noexcept;
}

/// A FIFO queue and a fixed number of threads, started with the first call and kept. `co_await io.run(ex, f)` runs
/// f() on one of them and continues on a worker of `ex` with what it returned or threw. What was written before the
/// call is visible to f, and what f wrote to who continues.
///
/// The threads are no workers: this_slot() and worker_local know nothing of them. The destructor is stop().
class io_pool {
 public:
  explicit io_pool(std::size_t threads) : count_(threads < 1 ? 1 : threads) {}
  io_pool(const io_pool&) = delete;
  io_pool& operator=(const io_pool&) = delete;
  ~io_pool() { stop(); }

  std::size_t threads() const noexcept { return count_; }

  /// Any thread. \throws std::system_error when the threads can't be started, std::logic_error after stop(): nobody
  /// would run the job any more.
  void post(job* j) {
    {
      std::lock_guard lock(mutex_);
      if (stopping_) {
        throw std::logic_error(
            "wick: a blocking call was started while its executor is being destroyed; let loaders and tasks end before");
      }
      if (threads_.empty()) start();
      j->next = nullptr;
      *last_ = j;
      last_ = &j->next;
    }
    wake_.notify_one();
  }

  /// Does what is queued, then ends the threads; post throws from now on. For the executor; by one thread at a time.
  void stop() noexcept {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    for (std::thread& t : threads_) {
      if (t.joinable()) t.join();
    }
    threads_.clear();
  }

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
        try {
          if constexpr (std::is_void_v<result>) self->f_();
          else self->value_.emplace(self->f_());
        } catch (...) {
          self->exception_ = std::current_exception();
        }
        self->execute = [](job* back) noexcept { detail::resume(static_cast<run_awaiter*>(back)->handle_); };
        detail::post_to(self->on_, j);
      };
      io_.post(this);
    }
    result await_resume() {
      if (exception_) std::rethrow_exception(std::move(exception_));
      if constexpr (!std::is_void_v<result>) return std::move(*value_);
    }

   private:
    struct nothing {};
    io_pool& io_;
    executor& on_;
    F f_;
    std::coroutine_handle<> handle_;
    std::conditional_t<std::is_void_v<result>, nothing, std::optional<result>> value_;
    std::exception_ptr exception_;
  };

  /// Any coroutine. `f` is moved into its frame and called once, on another thread, when the result is awaited; it
  /// returns a value or nothing. Awaiting throws what f threw, and what post throws.
  template <class F>
  run_awaiter<F> run(executor& on, F f) {
    return {*this, on, std::move(f)};
  }

 private:
  void start() {
    threads_.reserve(count_);
    for (std::size_t i = 0; i < count_; ++i) {
      threads_.emplace_back([this, i] {
        detail::name_this_thread("wick-io", i);
        work();
      });
    }
  }
  void work() noexcept {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return first_ != nullptr || stopping_; });
      if (first_ == nullptr) return;
      job* const j = first_;
      first_ = j->next;
      if (first_ == nullptr) last_ = &first_;
      lock.unlock();
      j->execute(j);
      lock.lock();
    }
  }

  const std::size_t count_;
  std::mutex mutex_;
  std::condition_variable wake_;
  job* first_ = nullptr;
  job** last_ = &first_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace wick
