/// \file
/// A task's result for code without coroutines: start it now, take the result later.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include <wick/run/detail/outcome.hpp>
#include <wick/run/executor.hpp>
#include <wick/run/task.hpp>
#include <wick/system/detail/condition.hpp>
#include <wick/system/detail/duration.hpp>

namespace wick::detail {

template <class T>
class future;

template <class T>
struct future_state {
  explicit future_state(executor& ex) noexcept : on(&ex) {}
  executor* on;
  std::mutex mutex;
  condition changed;
  std::atomic<bool> ready{false};  // set under the mutex; read without it, a forked child could not take it
  outcome<T> result;
};

template <class T>
detached run_for(std::shared_ptr<future_state<T>> state, task<void> settling) {
  co_await state->on->schedule();
  {
    const task<void> all = std::move(settling);  // gone before anybody is told
    co_await all;
  }
  std::lock_guard lock(state->mutex);
  state->ready.store(true, std::memory_order_release);
  state->changed.notify_all();
}

template <class T>
future<T> start(executor& ex, task<T> t);

/// What as_future gives: the task runs, and its value or exception is taken here, once. Not std::future: that
/// costs every program `<future>`, and would block a worker without a word.
///
/// One thread at a time. Dropping it abandons the result; the task goes on to its end, on an executor that
/// must outlive it. To stop it, give it a stop_token.
template <class T>
class [[nodiscard]] future {
 public:
  future() noexcept = default;

  /// False for a default one, and after get().
  bool valid() const noexcept { return state_ != nullptr; }
  /// Whether get() would return at once.
  bool ready() const noexcept { return state_->ready.load(std::memory_order_acquire); }
  /// Blocks this thread until the task has ended. \throws std::logic_error on a worker of its executor, which
  /// must not block (await the task there), and in a forked child
  void wait() const {
    check();
    std::unique_lock lock(state_->mutex);
    state_->changed.wait(lock, [&] { return ready(); });
  }
  /// The same for a while; whether it has ended.
  template <class Rep, class Period>
  bool wait_for(std::chrono::duration<Rep, Period> d) const {
    check();
    using seconds = std::chrono::duration<double>;
    constexpr seconds longest = std::chrono::hours(24 * 365 * 100);
    const seconds wanted = std::chrono::duration_cast<seconds>(d);
    const auto most = std::chrono::duration_cast<std::chrono::nanoseconds>(
        wanted > seconds::zero() ? std::min(wanted, longest) : seconds::zero());
    const auto end = std::chrono::steady_clock::now() + most;
    std::unique_lock lock(state_->mutex);
    while (!ready()) {
      const auto left = end - std::chrono::steady_clock::now();
      if (left <= std::chrono::nanoseconds::zero()) return false;
      state_->changed.wait_for(lock, left);
    }
    return true;
  }
  /// Waits, then gives the value or throws the exception. The task's frame is gone by then, parameters
  /// included, and what it wrote is visible.
  T get() {
    wait();
    const auto state = std::move(state_);
    return state->result.take();
  }

 private:
  friend future detail::start<T>(executor&, task<T>);
  explicit future(std::shared_ptr<detail::future_state<T>> state) noexcept : state_(std::move(state)) {}
  void check() const {
    if (!state_)
      throw std::logic_error(
          "wick: this future holds no task: it was made empty, or get() was called before");
    if (ready()) return;
    state_->on->require_workers();
    if (state_->on->this_slot() < state_->on->workers()) {
      throw std::logic_error(
          "wick: waiting for a future would block a worker of its executor; co_await the task there");
    }
  }
  std::shared_ptr<detail::future_state<T>> state_;
};

template <class T>
future<T> start(executor& ex, task<T> t) {
  auto state = std::make_shared<future_state<T>>(ex);
  task<void> settling = settle(std::move(t), &state->result);  // here, where want of memory can be told
  resume(run_for<T>(state, std::move(settling)).handle);
  return future<T>(std::move(state));
}

/// Starts `t` on a worker of `ex` and returns at once. Any thread. \throws std::logic_error in a forked child
template <class T>
future<T> as_future(executor& ex, task<T> t) {
  static_assert(!std::is_reference_v<T>,
                "wick: as_future gives back values; return a pointer or a std::reference_wrapper");
  ex.require_workers();
  return detail::start(ex, std::move(t));
}

}  // namespace wick::detail
