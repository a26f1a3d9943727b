// A task that runs on an executor while the test continues, and whose result is taken later.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

#include <wick/async/detail/outcome.hpp>
#include <wick/async/executor.hpp>
#include <wick/async/task.hpp>
#include <wick/base/detail/condition.hpp>

namespace wick_test {

template <class T>
struct future_state {
  std::mutex mutex;
  wick::detail::condition changed;
  std::atomic<bool> ready{false};
  wick::detail::outcome<T> result;
};

template <class T>
wick::detail::detached run_for(wick::executor* on, std::shared_ptr<future_state<T>> state,
                               wick::task<void> settling) {
  co_await on->schedule();
  {
    const wick::task<void> all = std::move(settling);  // its frame is gone before the result is there
    co_await all;
  }
  const std::lock_guard lock(state->mutex);
  state->ready.store(true, std::memory_order_release);
  state->changed.notify_all();
}

/// Used by one thread at a time. The executor must outlive the task, not the future.
template <class T>
class [[nodiscard]] future {
 public:
  explicit future(std::shared_ptr<future_state<T>> state) noexcept : state_(std::move(state)) {}
  bool ready() const noexcept { return state_->ready.load(std::memory_order_acquire); }
  /// Blocks this thread, which is no worker of the executor, until the task has ended.
  void wait() const {
    std::unique_lock lock(state_->mutex);
    state_->changed.wait(lock, [&] { return ready(); });
  }
  /// The task's value, or throws its exception. Once.
  T get() {
    wait();
    return state_->result.take();
  }

 private:
  std::shared_ptr<future_state<T>> state_;
};

/// Starts a task on a worker.
template <class T>
future<T> as_future(wick::executor& ex, wick::task<T> t) {
  ex.require_workers();
  auto state = std::make_shared<future_state<T>>();
  wick::task<void> settling = wick::detail::settle(std::move(t), &state->result);
  wick::detail::resume(run_for<T>(&ex, state, std::move(settling)).handle);
  return future<T>(std::move(state));
}

}  // namespace wick_test
