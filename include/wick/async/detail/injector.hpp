// The queue that all workers share: jobs from outside, and those that didn't fit in a worker's own queue.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>

#include <wick/async/detail/job.hpp>
#include <wick/base/detail/futex.hpp>

namespace wick::inline v0_1::detail {

/// FIFO, any thread, unbounded but without allocation: the links are part of the jobs.
template <class Atomics = std_atomics>
class basic_injector {
 public:
  void push(job* j) noexcept {
    j->next = nullptr;
    std::lock_guard lock(mutex_);
    *last_ = j;
    last_ = &j->next;
    size_.store(size_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  job* pop() noexcept {
    if (empty()) return nullptr;
    std::lock_guard lock(mutex_);
    job* const j = first_;
    if (j == nullptr) return nullptr;
    first_ = j->next;
    if (first_ == nullptr) last_ = &first_;
    size_.store(size_.load(std::memory_order_relaxed) - 1, std::memory_order_release);
    return j;
  }
  bool empty() const noexcept { return size_.load(std::memory_order_acquire) == 0; }

 private:
  alignas(64) typename Atomics::template atomic<std::size_t> size_{0};
  typename Atomics::mutex mutex_;
  job* first_ = nullptr;
  job** last_ = &first_;
};

using injector = basic_injector<>;

}  // namespace wick::detail
