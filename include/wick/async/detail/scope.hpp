// A scope for concurrent work: tasks that are spawned in it end in it, and the first failure stops the rest.
#pragma once

#include <atomic>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <utility>

#include <wick/async/executor.hpp>
#include <wick/async/stop_token.hpp>
#include <wick/async/task.hpp>
#include <wick/base/detail/futex.hpp>

namespace wick::inline v0_1::detail {

/// Starts tasks on an executor and waits for all of them. After the first exception, the others are asked to
/// stop (they see it at stop()), all are awaited, and join rethrows it.
///
/// spawn, fork: any thread, before join; also from within a task of the scope. join or wait: once, by one
/// caller. After it, the tasks' writes are visible and their frames are gone, parameters included; the scope
/// may be destroyed at once. The destructor asks all tasks to stop and blocks until they have: call join or
/// wait first, to see exceptions and to avoid blocking a worker. stop, request_stop: any thread. The executor
/// must outlive the scope.
class scope : detail::task_owner {
 public:
  explicit scope(executor& on) noexcept : on_(on) {
    ended = [](detail::task_owner* self, std::exception_ptr thrown) noexcept {
      auto* const s = static_cast<scope*>(self);
      if (thrown) s->fail(std::move(thrown));
      s->done_one();
    };
  }
  scope(const scope&) = delete;
  scope& operator=(const scope&) = delete;
  ~scope() {
    if (joined_) return;
    stop_.request_stop();
    wait_all();
  }

  stop_token stop() noexcept { return stop_.token(); }
  void request_stop() noexcept { stop_.request_stop(); }
  executor& on() noexcept { return on_; }

  /// Queues `t`; it starts on a worker, never here. \throws std::logic_error in a forked child; then nothing
  /// was spawned
  void spawn(task<void> t) {
    on_.require_workers();
    live_.fetch_add(1, std::memory_order_relaxed);
    on_.post(t.release().queued(*this));
  }
  /// For work that keeps dividing itself. It is like spawn while few jobs are queued for this worker, so that
  /// others find some. Otherwise `t` begins right here, like a call, which costs a tenth and keeps memory
  /// small. `t` must work either way; it may run to its first suspension before this returns. \throws
  /// std::logic_error in a forked child
  void fork(task<void> t) {
    on_.require_workers();
    if (!on_.queue_is_long()) return spawn(std::move(t));
    auto& promise = t.release();
    bool counted = false;
    if (promise.begin(*this, [&] {
          live_.fetch_add(1, std::memory_order_relaxed);
          counted = true;
        })) {
      return;
    }
    std::exception_ptr thrown = promise.take_exception();
    std::coroutine_handle<task<void>::promise_type>::from_promise(promise).destroy();
    if (thrown) fail(std::move(thrown));
    if (counted) done_one();
  }

  /// `co_await s.join();`
  class [[nodiscard]] join_awaiter : job {
   public:
    explicit join_awaiter(scope& s) noexcept : scope_(s) {}
    /// All tasks have ended, and only they could spawn more.
    bool await_ready() const noexcept { return scope_.live_.load(std::memory_order_acquire) == 1; }
    [[gnu::noinline]] bool await_suspend(std::coroutine_handle<> handle) noexcept {
      handle_ = handle;
      execute = [](job* j) noexcept { detail::resume(static_cast<join_awaiter*>(j)->handle_); };
      scope_.waiter_ = this;
      return scope_.live_.fetch_sub(1, std::memory_order_acq_rel) != 1;
    }
    void await_resume() { scope_.finish(); }

   private:
    scope& scope_;
    std::coroutine_handle<> handle_;
  };
  join_awaiter join() noexcept { return join_awaiter(*this); }

  /// Blocks the calling thread, which must not be a worker.
  void wait() {
    wait_all();
    finish();
  }

 private:
  void fail(std::exception_ptr thrown) noexcept {
    if (failed_.exchange(true, std::memory_order_acq_rel)) return;
    exception_ = std::move(thrown);
    stop_.request_stop();
  }
  void done_one() noexcept {
    if (live_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    if (waiter_ != nullptr)
      on_.post(waiter_);
    else
      all_done_.set();
  }
  void wait_all() noexcept {
    if (live_.fetch_sub(1, std::memory_order_acq_rel) != 1) all_done_.wait();
    joined_ = true;
  }
  void finish() {
    joined_ = true;
    if (exception_) std::rethrow_exception(std::move(exception_));
  }

  executor& on_;
  stop_source stop_;
  std::atomic<std::uint32_t> live_{1};  // one for the joiner
  std::atomic<bool> failed_{false};
  std::exception_ptr exception_;
  job* waiter_ = nullptr;
  detail::wake_flag all_done_;
  bool joined_ = false;
};

}  // namespace wick::detail
