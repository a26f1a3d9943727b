// Runs calls that wait for a network or the like on a few threads of their own. For definitions that are
// compiled once.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <wick/async/detail/interruption.hpp>
#include <wick/async/stop_token.hpp>
#include <wick/base/detail/condition.hpp>
#include <wick/base/detail/signal_mask.hpp>

namespace wick::inline v0_1::detail {

/// Calls f(0), …, f(count - 1) on `threads` threads, this one included, or on as many as the system allows.
/// If a call throws or this thread is interrupted, the calls that wait for servers give up.
/// \throws what the failed call with the lowest number throws, and what check_interruption() throws
template <class F>
void at_once(std::size_t count, std::size_t threads, F f) {
  std::atomic<std::size_t> next{0};
  std::atomic<bool> any_failed{false};
  std::vector<std::exception_ptr> failed(count + 1);
  const auto fail = [&](std::size_t i) noexcept {
    failed[i] = std::current_exception();
    any_failed.store(true, std::memory_order_relaxed);
    next.store(count, std::memory_order_relaxed);  // no point in starting the others
  };
  const auto work = [&]() noexcept {
    const auto* const before = std::exchange(no_longer_wanted, &any_failed);
    for (std::size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) {
      try {
        f(i);
      } catch (const cancelled&) {
        if (!any_failed.load(std::memory_order_relaxed)) fail(i);  // else another call's failure stopped it
      } catch (...) {
        fail(i);
      }
    }
    no_longer_wanted = before;
  };
  {
    std::mutex mutex;
    condition wake;
    std::size_t running = 0;
    std::vector<std::jthread> others;
    for (std::size_t t = 1; t < std::min(count, threads); ++t) {
      {
        const std::lock_guard lock(mutex);
        ++running;
      }
      const signals_blocked quiet;
      try {
        others.emplace_back([&] {
          work();
          const std::lock_guard lock(mutex);
          --running;
          wake.notify_one();
        });
      } catch (const std::system_error&) {
        const std::lock_guard lock(mutex);
        --running;
        break;
      }
    }
    work();
    for (std::unique_lock lock(mutex); running != 0;) {  // NOLINT(bugprone-infinite-loop): others end it
      wake.wait_for(lock, std::chrono::milliseconds(100));
      if (running == 0 || any_failed.load(std::memory_order_relaxed)) continue;
      lock.unlock();
      try {
        check_interruption();
      } catch (...) {
        fail(count);
      }
      lock.lock();
    }
  }
  for (const std::exception_ptr& each : failed) {
    if (each) std::rethrow_exception(each);
  }
}

}  // namespace wick::detail
