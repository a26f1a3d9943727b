// What the tests of the engine share: jobs out of callables, waits that give up instead of hanging, counted
// objects.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "../support/eventually.hpp"
#include "../support/sanitized.hpp"
#include "../support/stack_span.hpp"
#include <wick/async/detail/job.hpp>

namespace wick_test {

/// A job that calls a callable each time it is run.
class call : public wick::detail::job {
 public:
  explicit call(std::function<void()> f) : f_(std::move(f)) {
    execute = [](wick::detail::job* j) noexcept { static_cast<call*>(j)->f_(); };
  }
  call(const call&) = delete;
  call& operator=(const call&) = delete;

 private:
  std::function<void()> f_;
};

/// Events that are counted down to zero by any thread.
class countdown {
 public:
  explicit countdown(std::size_t n) : left_(n) {}
  void down() noexcept {
    std::lock_guard lock(mutex_);  // notifies under the lock: the thread that waited may destroy this at once
    if (--left_ == 0) zero_.notify_all();
  }
  /// False when it took longer than a test's patience.
  [[nodiscard]] bool wait() {
    std::unique_lock lock(mutex_);
    return zero_.wait_for(lock, patience, [&] { return left_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable zero_;
  std::size_t left_;
};

/// One event that threads wait for.
class gate : countdown {
 public:
  gate() : countdown(1) {}
  void open() noexcept { down(); }
  using countdown::wait;
};

/// The calling thread. In a coroutine use this one: clang 14 takes std::this_thread::get_id() from before a
/// suspension for that after it.
[[gnu::noinline]] inline std::thread::id this_thread() noexcept { return std::this_thread::get_id(); }

/// Counts itself: a parameter or local of a coroutine tells by it whether the frame is still there.
class counted {
 public:
  explicit counted(std::atomic<int>& alive) noexcept : alive_(&alive) { alive_->fetch_add(1); }
  counted(const counted& other) noexcept : counted(*other.alive_) {}
  counted& operator=(const counted&) = delete;
  ~counted() { alive_->fetch_sub(1); }

 private:
  std::atomic<int>* alive_;
};

}  // namespace wick_test
