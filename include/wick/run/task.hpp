/// \file
/// task<T>: a coroutine that starts when it is awaited and gives back one T or one exception.
#pragma once

#include <atomic>
#include <concepts>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <wick/run/detail/frame_pool.hpp>
#include <wick/run/detail/resume.hpp>

namespace wick {

template <class T = void>
class task;

namespace detail {

/// Child and parent meet at one atomic: whoever comes second knows that the other is done, and goes on. A child that
/// never suspends is an ordinary call: its parent does not suspend either.
class task_promise_base : public pooled_frame {
 public:
  std::suspend_always initial_suspend() noexcept { return {}; }

  struct final_awaiter {
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    [[gnu::noinline]] void await_suspend(std::coroutine_handle<Promise> self) const noexcept {
      task_promise_base& promise = self.promise();
      resume_node* const parent = promise.parent_;
      // Once "done" is published the parent may destroy this frame: nothing of it is touched afterwards.
      if (promise.state_.exchange(done, std::memory_order_acq_rel) == parent_suspended) resume_nested(*parent);
    }
    void await_resume() const noexcept {}
  };
  final_awaiter final_suspend() noexcept { return {}; }

  /// Runs this coroutine for a parent that is about to suspend; whether the parent must suspend indeed.
  bool start(resume_node& parent, std::coroutine_handle<> self) {
    parent_ = &parent;
    resume_stack* const stack = current_resume_stack();
    if (stack != nullptr && stack->depth >= resume_stack::max_depth) {
      state_.store(parent_suspended, std::memory_order_relaxed);  // same thread resumes both
      self_.handle = self;
      resume_nested(self_);
      return true;
    }
    self_.handle = self;
    resume_nested(self_);
    return state_.exchange(parent_suspended, std::memory_order_acq_rel) != done;
  }

 private:
  static constexpr std::uint32_t running = 0, parent_suspended = 1, done = 2;
  resume_node* parent_ = nullptr;
  resume_node self_;
  std::atomic<std::uint32_t> state_{running};
};

template <class T>
class task_promise final : public task_promise_base {
 public:
  inline task<T> get_return_object() noexcept;
  void unhandled_exception() noexcept { exception_ = std::current_exception(); }
  template <class U = T>
    requires std::convertible_to<U&&, T>
  void return_value(U&& value) {
    if constexpr (std::is_reference_v<T>) value_ = std::addressof(value);
    else value_.emplace(std::forward<U>(value));
  }
  T take() {
    if (exception_) std::rethrow_exception(std::move(exception_));
    if constexpr (std::is_reference_v<T>) return static_cast<T>(*value_);
    else return std::move(*value_);
  }

 private:
  using stored = std::conditional_t<std::is_reference_v<T>, std::remove_reference_t<T>*, std::optional<T>>;
  stored value_{};
  std::exception_ptr exception_;
};

template <>
class task_promise<void> final : public task_promise_base {
 public:
  inline task<void> get_return_object() noexcept;
  void unhandled_exception() noexcept { exception_ = std::current_exception(); }
  void return_void() noexcept {}
  void take() {
    if (exception_) std::rethrow_exception(std::move(exception_));
  }

 private:
  std::exception_ptr exception_;
};

}  // namespace detail

/// A lazy coroutine. Await it once: `auto x = co_await std::move(t);`, in a statement of its own. Parameters of the
/// coroutine go by value; a lambda coroutine has no captures (its frame outlives them).
/// Awaiting a task that does not suspend costs a call; a chain of any length takes a bounded stack.
/// Dropping a task that was not started drops its frame with the parameters in it; one that was started is always
/// awaited to its end. A default or moved-from task is empty and must not be awaited.
///
/// It belongs to one thread at a time, not always the same: what a child wrote is visible to its parent, wherever
/// each of them was resumed. The locals of a child are gone when it ends, its parameters and its result when the task
/// object is.
template <class T>
class [[nodiscard]] task {
 public:
  using promise_type = detail::task_promise<T>;
  using value_type = T;

  task() noexcept = default;
  task(task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  /// Drops what this held, at once.
  task& operator=(task&& other) noexcept {
    task old(std::move(other));
    std::swap(handle_, old.handle_);
    return *this;
  }
  ~task() {
    if (handle_) handle_.destroy();
  }

  class awaiter {
   public:
    explicit awaiter(std::coroutine_handle<promise_type> child) noexcept : child_(child) {}
    bool await_ready() const noexcept { return false; }
    [[gnu::noinline]] bool await_suspend(std::coroutine_handle<> parent) {
      parent_.handle = parent;
      return child_.promise().start(parent_, child_);
    }
    T await_resume() { return child_.promise().take(); }

   private:
    std::coroutine_handle<promise_type> child_;
    detail::resume_node parent_;
  };

  awaiter operator co_await() const& noexcept { return awaiter(handle_); }
  awaiter operator co_await() const&& noexcept { return awaiter(handle_); }

  explicit operator bool() const noexcept { return static_cast<bool>(handle_); }

 private:
  friend promise_type;
  explicit task(std::coroutine_handle<promise_type> handle) noexcept : handle_(handle) {}
  std::coroutine_handle<promise_type> handle_;
};

namespace detail {

template <class T>
task<T> task_promise<T>::get_return_object() noexcept {
  return task<T>(std::coroutine_handle<task_promise>::from_promise(*this));
}
inline task<void> task_promise<void>::get_return_object() noexcept {
  return task<void>(std::coroutine_handle<task_promise>::from_promise(*this));
}

/// A coroutine that nobody awaits: it starts when its handle is resumed and frees itself at its end. Its body must
/// not throw.
struct detached {
  struct promise_type : pooled_frame {
    detached get_return_object() noexcept {
      return {std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }
  };
  std::coroutine_handle<promise_type> handle;
};

}  // namespace detail

template <class T>
inline constexpr bool is_task = false;
template <class T>
inline constexpr bool is_task<task<T>> = true;

}  // namespace wick
