/// \file
/// Starts several awaitables at once, and resumes the waiting coroutine when the last has ended.
#pragma once

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include <wick/async/detail/awaitable.hpp>
#include <wick/async/detail/resume.hpp>
#include <wick/async/stop_token.hpp>
#include <wick/async/task.hpp>
#include <wick/base/detail/owned.hpp>

namespace wick::inline v0_1::detail {

/// Lies in the frame of the waiting coroutine. The last to end resumes it, and touches nothing of this then.
class siblings {
 public:
  siblings(std::size_t count, stop_source* stop) : nodes_(count), stop_(stop) {}
  siblings(const siblings&) = delete;
  siblings& operator=(const siblings&) = delete;
  /// Those that were not started (an allocation failed) are dropped.
  ~siblings() {
    for (std::size_t i = 0; i < added_; ++i) {
      if (nodes_[i].handle) nodes_[i].handle.destroy();
    }
  }

  template <class A, class End>
  void add(A a, End end) {
    nodes_[added_].handle = run(this, std::move(a), std::move(end)).handle;
    ++added_;
  }

  void rethrow() {
    if (exception_) std::rethrow_exception(std::move(exception_));
  }

  /// `co_await s.all();` starts them one after the other, each up to its first suspension.
  class [[nodiscard]] all_awaiter {
   public:
    explicit all_awaiter(siblings& of) noexcept : of_(of) {}
    bool await_ready() const noexcept { return of_.added_ == 0; }
    [[gnu::noinline]] bool await_suspend(std::coroutine_handle<> parent) {
      of_.parent_.handle = parent;
      of_.running_.store(of_.added_ + 1, std::memory_order_relaxed);
      const std::size_t n = std::exchange(of_.added_, 0);  // from now on they free themselves
      for (std::size_t i = 0; i < n; ++i) resume_nested(of_.nodes_[i]);
      return of_.running_.fetch_sub(1, std::memory_order_acq_rel) != 1;
    }
    void await_resume() const noexcept {}

   private:
    siblings& of_;
  };
  all_awaiter all() noexcept { return all_awaiter(*this); }

 private:
  template <class A, class End>
  static detached run(siblings* self, A a, End end) {
    {
      std::optional<A> mine(
          std::move(a));  // gone before the waiter continues: it may refer to objects of the waiter
      try {
        if constexpr (std::is_void_v<await_result_t<A&&>>) {
          co_await std::move(*mine);
          end(std::monostate());
        } else {
          auto&& value = co_await std::move(*mine);
          end(std::forward<decltype(value)>(value));
        }
      } catch (...) {
        self->fail(std::current_exception());
      }
    }
    if (self->running_.fetch_sub(1, std::memory_order_acq_rel) == 1) resume_nested(self->parent_);
  }

  /// The first exception is kept, and asks the others to stop.
  void fail(std::exception_ptr e) noexcept {
    if (failed_.exchange(true, std::memory_order_acq_rel)) return;
    exception_ = std::move(e);
    if (stop_ != nullptr) stop_->request_stop();
  }

  const owned<resume_node[]> nodes_;
  std::size_t added_ = 0;
  stop_source* const stop_;
  resume_node parent_;
  std::atomic<std::size_t> running_{0};
  std::atomic<bool> failed_{false};
  std::exception_ptr exception_;
};

}  // namespace wick::detail
