/// \file
/// Mutual exclusion for coroutines: one that finds it locked suspends.
#pragma once

#include <utility>

#include <wick/async/async_semaphore.hpp>
#include <wick/async/detail/environment.hpp>

namespace wick::inline v0_1 {

/// A mutex that may be held across a `co_await`. A std::mutex must not: the coroutine may resume on another
/// thread. First come, first served: unlocking hands it to the coroutine that has waited longest. It is not
/// recursive.
///
/// lock, try_lock: any thread. Writes under the lock are visible to its next holder. It must outlive its
/// guards, and be destroyed when no coroutine waits.
///
///     auto guard = co_await mutex.lock(c);   // c: the stage's context, or {executor, token}
class async_mutex {
 public:
  async_mutex() noexcept = default;

  /// Unlocks when it dies, on any thread. A default or moved-from one holds nothing.
  class [[nodiscard]] guard {
   public:
    guard() noexcept = default;
    void unlock() noexcept { held_.reset(); }
    explicit operator bool() const noexcept { return static_cast<bool>(held_); }

   private:
    friend class async_mutex;
    explicit guard(async_semaphore::permits held) noexcept : held_(std::move(held)) {}
    async_semaphore::permits held_;
  };

  class [[nodiscard]] lock_awaiter : public async_semaphore::acquire_awaiter {
   public:
    using acquire_awaiter::acquire_awaiter;
    guard await_resume() { return guard(acquire_awaiter::await_resume()); }
  };

  /// Suspends until it is this one's turn. \throws wick::cancelled
  lock_awaiter lock(detail::environment env) noexcept { return {one_, env, 1}; }

  /// At once or not at all: an empty guard. Never overtakes a waiting request.
  guard try_lock() noexcept { return guard(one_.try_acquire()); }

 private:
  async_semaphore one_{1};
};

}  // namespace wick
