// Waiting in line, the basis of async_semaphore.
#pragma once

#include <coroutine>
#include <optional>
#include <utility>

#include <wick/async/detail/activity.hpp>
#include <wick/async/detail/job.hpp>
#include <wick/async/environment.hpp>
#include <wick/async/executor.hpp>
#include <wick/async/stop_token.hpp>

namespace wick::inline v0_1::detail {

/// One waiting coroutine; part of its frame. The links and `stage` belong to the owner of the line and are
/// read and written under its mutex; from `served` or `called_off` on, they belong to the coroutine.
struct waiter : job {
  enum class stages : unsigned char { arriving, in_line, served, called_off };

  explicit waiter(environment e) noexcept : env(e) {}
  /// Lets the coroutine continue. Don't touch the waiter afterwards.
  void wake() noexcept {
    wait.now(wait_for::worker);
    env.on().post(this);
  }

  environment env;
  std::coroutine_handle<> handle;
  noted_wait wait;
  waiter* before = nullptr;
  waiter* after = nullptr;
  stages stage = stages::arriving;
};

/// First in, first out; any waiter may leave from the middle.
class line {
 public:
  bool empty() const noexcept { return first_ == nullptr; }
  waiter* front() const noexcept { return first_; }
  void push(waiter& w) noexcept {
    w.before = last_;
    w.after = nullptr;
    (last_ != nullptr ? last_->after : first_) = &w;
    last_ = &w;
    w.stage = waiter::stages::in_line;
  }
  void remove(waiter& w) noexcept {
    (w.before != nullptr ? w.before->after : first_) = w.after;
    (w.after != nullptr ? w.after->before : last_) = w.before;
  }
  waiter& pop() noexcept {
    waiter& w = *first_;
    remove(w);
    return w;
  }

 private:
  waiter* first_ = nullptr;
  waiter* last_ = nullptr;
};

/// Waiters that were served under the mutex and are woken after it is released, in order.
class woken {
 public:
  void add(waiter& w) noexcept {
    w.after = nullptr;
    *end_ = &w;
    end_ = &w.after;
  }
  void wake_all() noexcept {
    while (first_ != nullptr) std::exchange(first_, first_->after)->wake();
  }

 private:
  waiter* first_ = nullptr;
  waiter** end_ = &first_;
};

/// The awaiter of a wait in line. The stop callback is registered before the waiter joins the line, so a stop
/// is never missed: an earlier one sets `called_off`, which join() finds; a later one takes the waiter out of
/// the line.
///
/// Owner has these functions, which all take its mutex: `bool serve(Derived&)` takes what is wanted now or
/// returns false; `bool join(Derived&)` does the same, but queues the waiter and returns true if it must wait
/// (and false if it is called off); `void call_off(Derived&)`. The owner may be destroyed as soon as its
/// waiters have continued.
template <class Owner, class Derived>
class line_awaiter : public waiter {
 public:
  line_awaiter(Owner& owner, environment e) noexcept : waiter(e), owner_(&owner) {}
  /// For moves before it is awaited, such as into when_all. The callback and the links don't move.
  line_awaiter(line_awaiter&& other) noexcept : waiter(other.env), owner_(other.owner_) {}
  line_awaiter& operator=(line_awaiter&&) = delete;

  bool await_ready() noexcept {
    if (env.stop().stop_requested()) {
      stage = stages::called_off;
      return true;
    }
    return owner_->serve(static_cast<Derived&>(*this));
  }
  [[gnu::noinline]] bool await_suspend(std::coroutine_handle<> h) noexcept {
    handle = h;
    execute = [](job* j) noexcept { resume(static_cast<waiter*>(j)->handle); };
    if (env.stop().stop_possible()) calling_off_.emplace(env.stop(), on_stop{this});
    wait.begin(Owner::waited_for);
    if (owner_->join(static_cast<Derived&>(*this))) return true;  // another thread may have resumed it by now
    wait.end();
    return false;
  }

 protected:
  /// \throws wick::cancelled
  void finish() {
    wait.end();
    calling_off_.reset();  // waits for a running callback, which finds nothing to do
    if (stage == stages::called_off) throw cancelled();
  }
  Owner& owner() const noexcept { return *owner_; }

 private:
  struct on_stop {
    line_awaiter* self;
    void operator()() const noexcept { self->owner_->call_off(static_cast<Derived&>(*self)); }
  };
  Owner* owner_;
  std::optional<stop_callback<on_stop>> calling_off_;
};

}  // namespace wick::detail
