// Permits that coroutines share: a coroutine that finds too few permits suspends, and no worker ever blocks.
#pragma once

#include <cstddef>
#include <mutex>
#include <utility>

#include <wick/async/detail/line.hpp>
#include <wick/async/environment.hpp>

namespace wick::inline v0_1 {

/// A number of permits that coroutines share. First come, first served: requests for few permits don't
/// overtake one for many, so no coroutine starves. A request for more permits than there ever are waits until
/// it is cancelled, and so do the requests after it. With one permit it is a mutex that you may hold across a
/// `co_await`. You must not do so with a std::mutex: the coroutine may resume on another thread.
///
/// Any thread may call acquire, try_acquire, and release. Writes before a permit is given back are visible to
/// the coroutine that gets it. The semaphore must outlive its permits, and be destroyed when no coroutine
/// waits. A coroutine that has its permits may destroy it even if release, on another thread, hasn't returned
/// yet.
///
///     wick::async_semaphore connections(8);
///     auto permit = co_await connections.acquire(c);   // c: the stage's context, or {executor, token}
class async_semaphore {
 public:
  /// At first, `count` permits are free.
  explicit async_semaphore(std::size_t count) noexcept : free_(count) {}
  async_semaphore(const async_semaphore&) = delete;
  async_semaphore& operator=(const async_semaphore&) = delete;

  /// The result of acquire. Its destructor gives the permits back, on any thread.
  class [[nodiscard]] permits {
   public:
    permits() noexcept = default;
    permits(permits&& other) noexcept
        : of_(std::exchange(other.of_, nullptr)), count_(std::exchange(other.count_, 0)) {}
    /// Gives back the permits that this held, at once.
    permits& operator=(permits&& other) noexcept {
      permits old(std::move(other));
      std::swap(of_, old.of_);
      std::swap(count_, old.count_);
      return *this;
    }
    ~permits() { reset(); }
    std::size_t count() const noexcept { return count_; }
    void reset() noexcept {
      if (of_ != nullptr) std::exchange(of_, nullptr)->release(std::exchange(count_, 0));
    }
    /// Doesn't give the permits back: they are gone, or other code calls release.
    std::size_t forget() noexcept {
      of_ = nullptr;
      return std::exchange(count_, 0);
    }
    explicit operator bool() const noexcept { return of_ != nullptr; }

   private:
    friend class async_semaphore;
    permits(async_semaphore* of, std::size_t count) noexcept : of_(of), count_(count) {}
    async_semaphore* of_ = nullptr;
    std::size_t count_ = 0;
  };

  class [[nodiscard]] acquire_awaiter : public detail::line_awaiter<async_semaphore, acquire_awaiter> {
   public:
    acquire_awaiter(async_semaphore& of, ext::environment in, std::size_t wanted) noexcept
        : line_awaiter(of, in), wanted_(wanted) {}
    permits await_resume() {
      finish();
      return {&owner(), wanted_};
    }

   private:
    friend class async_semaphore;
    std::size_t wanted_;
  };

  /// Suspends until `n` permits are free and all earlier requests are served. \throws wick::cancelled
  acquire_awaiter acquire(ext::environment env, std::size_t n = 1) noexcept { return {*this, env, n}; }

  /// Takes `n` permits at once, or none. Never overtakes a waiting request.
  permits try_acquire(std::size_t n = 1) noexcept {
    std::lock_guard lock(mutex_);
    if (!take(n)) return {};
    return {this, n};
  }

  /// Adds permits, returned or new, and wakes the coroutines whose turn it is.
  void release(std::size_t n = 1) noexcept {
    detail::woken ready;
    {
      std::lock_guard lock(mutex_);
      free_ += n;
      serve_line(ready);
    }
    ready.wake_all();
  }

  /// The number of permits free at this moment; it may be stale by the time you look at it.
  std::size_t available() const noexcept {
    std::lock_guard lock(mutex_);
    return free_;
  }

 private:
  friend class detail::line_awaiter<async_semaphore, acquire_awaiter>;
  static constexpr detail::wait_for waited_for = detail::wait_for::lock;

  bool take(std::size_t n) noexcept {
    if (!line_.empty() || free_ < n) return false;
    free_ -= n;
    return true;
  }
  bool serve(acquire_awaiter& a) noexcept {
    std::lock_guard lock(mutex_);
    if (!take(a.wanted_)) return false;
    a.stage = acquire_awaiter::stages::served;
    return true;
  }
  bool join(acquire_awaiter& a) noexcept {
    std::lock_guard lock(mutex_);
    if (a.stage == acquire_awaiter::stages::called_off) return false;
    if (take(a.wanted_)) {
      a.stage = acquire_awaiter::stages::served;
      return false;
    }
    line_.push(a);
    return true;
  }
  void call_off(acquire_awaiter& a) noexcept {
    detail::woken ready;
    {
      std::lock_guard lock(mutex_);
      const auto stage = a.stage;
      if (stage == acquire_awaiter::stages::served) return;
      a.stage = acquire_awaiter::stages::called_off;
      if (stage == acquire_awaiter::stages::arriving) return;
      line_.remove(a);
      ready.add(a);
      serve_line(ready);  // it may have wanted more than those after it
    }
    ready.wake_all();
  }
  void serve_line(detail::woken& ready) noexcept {
    while (!line_.empty()) {
      auto& next = static_cast<acquire_awaiter&>(*line_.front());
      if (free_ < next.wanted_) return;
      free_ -= next.wanted_;
      line_.remove(next);
      next.stage = acquire_awaiter::stages::served;
      ready.add(next);
    }
  }

  mutable std::mutex mutex_;  // held for a few instructions
  std::size_t free_;
  detail::line line_;
};

}  // namespace wick
