// Sleeping without occupying a worker: pauses between retries, timeouts, polling.
#pragma once

#include <coroutine>
#include <optional>

#include <wick/async/detail/activity.hpp>
#include <wick/async/detail/job.hpp>
#include <wick/async/detail/timer_queue.hpp>
#include <wick/async/environment.hpp>
#include <wick/async/executor.hpp>
#include <wick/async/stop_token.hpp>
#include <wick/base/detail/duration.hpp>

namespace wick::inline v0_1 {

namespace detail {

/// The result of sleep_for and sleep_until; await it once.
class [[nodiscard]] sleep_awaiter : job, timer {
 public:
  sleep_awaiter(environment env, clock::time_point until) noexcept : env_(env) { due = until; }
  /// Move it only before it is awaited, for example into when_all.
  sleep_awaiter(sleep_awaiter&& other) noexcept : sleep_awaiter(other.env_, other.due) {}
  sleep_awaiter& operator=(sleep_awaiter&&) = delete;

  bool await_ready() noexcept {
    called_off_ = env_.stop().stop_requested();
    return called_off_ || due <= clock::now();
  }
  [[gnu::noinline]] bool await_suspend(std::coroutine_handle<> h) {
    handle_ = h;
    execute = [](job* j) noexcept { detail::resume(static_cast<sleep_awaiter*>(j)->handle_); };
    expired = [](timer* t, bool on_time) noexcept { static_cast<sleep_awaiter*>(t)->wake(on_time); };
    // First the callback, then the timer: a stop between the two marks the timer, and add refuses it.
    if (env_.stop().stop_possible()) calling_off_.emplace(env_.stop(), on_stop{this});
    wait_.begin(wait_for::time);
    called_off_ = true;  // unless it expires: written before add, since afterwards this may be gone
    try {
      if (env_.on().timers().add(*this)) return true;
    } catch (...) {
      wait_.end();
      throw;
    }
    wait_.end();
    return false;
  }
  void await_resume() {
    wait_.end();
    calling_off_.reset();
    if (called_off_) throw cancelled();
  }

 private:
  struct on_stop {
    sleep_awaiter* self;
    void operator()() const noexcept {
      if (self->env_.on().timers().cancel(*self)) self->wake(false);
    }
  };
  void wake(bool on_time) noexcept {
    called_off_ = !on_time;
    wait_.now(wait_for::worker);
    env_.on().post(this);
  }

  environment env_;
  std::coroutine_handle<> handle_;
  noted_wait wait_;
  bool called_off_ = false;
  std::optional<stop_callback<on_stop>> calling_off_;
};

/// `co_await wick::sleep_until(t, c);` suspends until `t` and continues on the executor, or continues at once
/// if `t` has passed. `c` is the stage's context, or {executor, token}. \throws wick::cancelled promptly when
/// a stop is requested, or the executor is being destroyed
inline sleep_awaiter sleep_until(timer::clock::time_point t, environment env) noexcept { return {env, t}; }

}  // namespace detail

/// `co_await wick::sleep_for(100ms, c);` suspends for that long and continues on the executor; no worker
/// waits meanwhile. `c` is the stage's context, or {executor, token}. Durations are clamped to [0, 100
/// years]; NaN counts as 0. \throws wick::cancelled promptly when a stop is requested, or the executor is
/// being destroyed
template <class Rep, class Period>
detail::sleep_awaiter sleep_for(std::chrono::duration<Rep, Period> d, ext::environment env) noexcept {
  using seconds = std::chrono::duration<double>;
  constexpr seconds longest = std::chrono::hours(24 * 365 * 100);
  const auto now = detail::timer::clock::now();
  const seconds wanted = std::chrono::duration_cast<seconds>(d);
  if (!(wanted > seconds::zero())) return {env, now};
  if (wanted >= longest)
    return {env, now + std::chrono::duration_cast<detail::timer::clock::duration>(longest)};
  return {env, now + std::chrono::ceil<detail::timer::clock::duration>(d)};
}

}  // namespace wick
