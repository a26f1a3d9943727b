// task<T>: a coroutine that starts when it is awaited and gives back one T or one exception.
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

#include <wick/async/detail/frame_pool.hpp>
#include <wick/async/detail/job.hpp>
#include <wick/async/detail/resume.hpp>

namespace wick::inline v0_1 {

template <class T = void>
class task;

namespace detail {

/// Owns tasks that no coroutine awaits: `ended` is called after a task has ended and nothing of it is left.
struct task_owner {
  void (*ended)(task_owner*, std::exception_ptr) noexcept = nullptr;
};

/// A child that ends without suspending notifies its parent, which is right below it on the stack, through a
/// plain variable, so such a call costs no atomic. Otherwise they meet at one atomic: the second to arrive
/// knows that the other is done, and continues.
class task_promise_base : public pooled_frame {
 public:
  std::suspend_always initial_suspend() noexcept { return {}; }

  struct final_awaiter {
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    [[gnu::noinline]] void await_suspend(std::coroutine_handle<Promise> self) const noexcept {
      Promise& promise = self.promise();
      resumption& here = this_thread_resumption();
      if (here.innermost == promise.name_) {
        promise.ended_at_once_ = true;
        return;
      }
      if constexpr (requires { promise.owner_; }) {
        if (promise.owner_ != nullptr) return promise.end_for_owner(self);
      }
      resume_node* const parent = promise.parent_;
      if (promise.meets_parent()) resume_nested(here, *parent);
    }
    void await_resume() const noexcept {}
  };
  final_awaiter final_suspend() noexcept { return {}; }

  /// Runs this coroutine for a parent that is about to suspend. Returns whether the parent must suspend.
  bool start(resume_node& parent, std::coroutine_handle<> self) {
    parent_ = &parent;
    return run(self, [] {});
  }

 protected:
  /// Called at the end: whether the parent has already left. If not, don't touch this frame any more.
  bool meets_parent() noexcept {
    return state_.load(std::memory_order_acquire) == parent_left ||
           state_.exchange(done, std::memory_order_acq_rel) == parent_left;
  }
  void parent_has_left() noexcept { state_.store(parent_left, std::memory_order_relaxed); }

  /// Runs up to the first suspension, or soon on this thread if its stack is already deep. Returns false if
  /// the coroutine has ended; otherwise `leave` was called, before the end reaches the parent or the owner.
  template <class F>
  bool run(std::coroutine_handle<> self, F&& leave) {
    self_.handle = self;
    resumption& here = this_thread_resumption();
    if (here.stack != nullptr && here.stack->depth >= resume_stack::max_depth) {
      leave();
      parent_has_left();  // the same thread resumes both
      resume_nested(here, self_);
      return true;
    }
    const std::uint64_t outer = here.innermost;
    here.innermost = name_ = here.new_name();
    resume_nested(here, self_);
    here.innermost = outer;
    if (ended_at_once_) return false;
    leave();
    return state_.exchange(parent_left, std::memory_order_acq_rel) != done;
  }

 private:
  static constexpr std::uint32_t running = 0, parent_left = 1, done = 2;
  static constexpr std::uint64_t no_name = ~std::uint64_t{0};
  resume_node* parent_ = nullptr;
  resume_node self_;
  std::uint64_t name_ = no_name;
  std::atomic<std::uint32_t> state_{running};
  bool ended_at_once_ = false;
};

template <class T>
class task_promise final : public task_promise_base {
 public:
  inline task<T> get_return_object() noexcept;
  void unhandled_exception() noexcept { exception_ = std::current_exception(); }
  template <class U = T>
    requires std::convertible_to<U&&, T>
  void return_value(U&& value) {
    if constexpr (std::is_reference_v<T>)
      value_ = std::addressof(value);
    else
      value_.emplace(std::forward<U>(value));
  }
  T take() {
    if (exception_) std::rethrow_exception(std::move(exception_));
    if constexpr (std::is_reference_v<T>)
      return static_cast<T>(*value_);
    else
      return std::move(*value_);
  }

 private:
  using stored = std::conditional_t<std::is_reference_v<T>, std::remove_reference_t<T>*, std::optional<T>>;
  stored value_{};
  std::exception_ptr exception_;
};

template <>
class task_promise<void> final : public task_promise_base, job {
 public:
  inline task<void> get_return_object() noexcept;
  void unhandled_exception() noexcept { exception_ = std::current_exception(); }
  void return_void() noexcept {}
  void take() {
    if (exception_) std::rethrow_exception(std::move(exception_));
  }

  /// A job to queue: the task begins when the job is executed, and calls `owner` at its end. It owns itself
  /// from now on.
  job* queued(task_owner& owner) noexcept {
    owner_ = &owner;
    parent_has_left();  // queueing publishes it
    execute = [](job* j) noexcept { resume(handle_of(static_cast<task_promise*>(j))); };
    return this;
  }
  /// Begins here; see run(). Returns false if it has ended: call take_exception(), and drop it. If it returns
  /// true, `leave` was called; the task owns itself from now on, and calls `owner` at its end.
  template <class F>
  bool begin(task_owner& owner, F&& leave) {
    owner_ = &owner;
    return run(handle_of(this), std::forward<F>(leave));
  }
  std::exception_ptr take_exception() noexcept { return std::move(exception_); }

 private:
  friend task_promise_base::final_awaiter;
  static std::coroutine_handle<task_promise> handle_of(task_promise* p) noexcept {
    return std::coroutine_handle<task_promise>::from_promise(*p);
  }
  void end_for_owner(std::coroutine_handle<> self) noexcept {
    task_owner* const owner = owner_;
    if (!meets_parent()) return;
    std::exception_ptr thrown = std::move(exception_);
    self.destroy();  // with its parameters, which may refer to objects that the owner is about to drop
    owner->ended(owner, std::move(thrown));
  }

  task_owner* owner_ = nullptr;
  std::exception_ptr exception_;
};

}  // namespace detail

/// A lazy coroutine: it starts when it is awaited. Await it once: `auto x = co_await std::move(t);`, in a
/// separate statement. Pass the coroutine's parameters by value, and give a lambda coroutine no captures (its
/// frame outlives them). Awaiting a task that doesn't suspend costs a call; a chain of any length takes a
/// bounded stack. Dropping a task that hasn't started drops its frame with the parameters in it. A task that
/// has started is always awaited to its end. A default or moved-from task is empty and must not be awaited.
///
/// A task belongs to one thread at a time, not always the same one: a child's writes are visible to its
/// parent, wherever each of them was resumed. A child's locals are gone when it ends; its parameters and its
/// result are gone when the task object is.
template <class T>
class [[nodiscard]] task {
 public:
  using promise_type = detail::task_promise<T>;
  using value_type = T;

  task() noexcept = default;
  task(task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  /// Drops the task that this held, at once.
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

  /// For an owner of tasks that no coroutine awaits: returns the promise, which owns its frame from now on.
  promise_type& release() noexcept { return std::exchange(handle_, nullptr).promise(); }

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

/// A coroutine that is not awaited: it starts when its handle is resumed and frees itself at its end. Its
/// body must not throw.
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

template <class T>
inline constexpr bool is_task = false;
template <class T>
inline constexpr bool is_task<task<T>> = true;

}  // namespace detail

}  // namespace wick
