/// \file
/// A bound on memory in flight: samples take bytes before they are read and give them back when they are decoded.
#pragma once

#include <algorithm>
#include <atomic>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include <wick/run/executor.hpp>
#include <wick/run/task.hpp>

namespace wick {

class byte_budget;

/// Some bytes taken from a budget; given back when this is dropped, on any thread.
class [[nodiscard]] byte_charge {
 public:
  byte_charge() noexcept = default;
  byte_charge(byte_charge&& other) noexcept
      : budget_(std::exchange(other.budget_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  /// Gives back what this held, at once.
  byte_charge& operator=(byte_charge&& other) noexcept {
    byte_charge old(std::move(other));
    std::swap(budget_, old.budget_);
    std::swap(bytes_, old.bytes_);
    return *this;
  }
  ~byte_charge() { reset(); }
  std::size_t bytes() const noexcept { return bytes_; }
  /// Up to `n` bytes of this as a charge of their own.
  byte_charge split(std::size_t n) noexcept {
    n = std::min(n, bytes_);
    bytes_ -= n;
    return {budget_, n};
  }
  inline void reset() noexcept;
  explicit operator bool() const noexcept { return budget_ != nullptr; }

 private:
  friend class byte_budget;
  byte_charge(byte_budget* budget, std::size_t bytes) noexcept : budget_(budget), bytes_(bytes) {}
  byte_budget* budget_ = nullptr;
  std::size_t bytes_ = 0;
};

/// A number of bytes that many coroutines share. Whoever finds too little suspends; grants go to the lowest position
/// first, since an ordered consumer waits for that one. Something larger than the whole budget is let through when
/// nothing else is out, so a small budget makes a pipeline slow and never stuck.
/// A sample takes once and holds until it is done: nobody waits here while holding, so no circle can form.
///
/// Any thread may take and give back. Whoever gives back hands the bytes to those who wait before it returns, and
/// they go on on their executor. The budget must outlive its charges, and be destroyed when nobody waits. A cancelled
/// waiter is not taken out of the queue: its turn comes, and it gives the bytes back at once.
class byte_budget {
 public:
  explicit byte_budget(std::size_t limit) noexcept : limit_(limit) {}
  byte_budget(const byte_budget&) = delete;
  byte_budget& operator=(const byte_budget&) = delete;

  std::size_t limit() const noexcept { return limit_; }
  /// Bytes out at this moment, for reports: it may be old when it is looked at.
  std::size_t used() const noexcept { return used_.load(std::memory_order_relaxed); }
  /// The most that was ever out at one time.
  std::size_t peak() const noexcept { return peak_.load(std::memory_order_relaxed); }

  /// Takes at once or not at all; an empty charge means not. Any thread. Never overtakes one who waits.
  byte_charge try_acquire(std::size_t bytes) noexcept {
    std::lock_guard lock(mutex_);
    if (!waiting_.empty() || !fits(bytes)) return {};
    take(bytes);
    return {this, bytes};
  }

  class [[nodiscard]] acquire_awaiter : job {
   public:
    bool await_ready() noexcept {
      charge_ = budget_->try_acquire(bytes_);
      return static_cast<bool>(charge_);
    }
    [[gnu::noinline]] bool await_suspend(std::coroutine_handle<> waiter) {
      waiter_ = waiter;
      execute = [](job* j) noexcept { detail::resume(static_cast<acquire_awaiter*>(j)->waiter_); };
      std::lock_guard lock(budget_->mutex_);
      // Who comes before all that wait has its turn now, not at the next release: the consumer waits for the lowest.
      if ((budget_->waiting_.empty() || later(budget_->waiting_.front(), this)) && budget_->fits(bytes_)) {
        budget_->take(bytes_);
        charge_ = byte_charge(budget_, bytes_);
        return false;
      }
      budget_->waiting_.push_back(this);
      std::push_heap(budget_->waiting_.begin(), budget_->waiting_.end(), later);
      return true;
    }
    byte_charge await_resume() noexcept { return std::move(charge_); }

   private:
    friend class byte_budget;
    acquire_awaiter(byte_budget* budget, executor& on, std::size_t bytes, std::uint64_t position) noexcept
        : budget_(budget), on_(&on), bytes_(bytes), position_(position) {}
    static bool later(const acquire_awaiter* a, const acquire_awaiter* b) noexcept {
      return a->position_ > b->position_;
    }
    byte_budget* budget_;
    executor* on_;
    std::size_t bytes_;
    std::uint64_t position_;
    std::coroutine_handle<> waiter_;
    byte_charge charge_;
  };

  /// `byte_charge c = co_await budget.acquire(on, n, position)`: suspends until n bytes are free; resumes on `on`.
  acquire_awaiter acquire(executor& on, std::size_t bytes, std::uint64_t position) noexcept {
    return {this, on, bytes, position};
  }

 private:
  friend class byte_charge;
  bool fits(std::size_t bytes) const noexcept {
    const std::size_t used = used_.load(std::memory_order_relaxed);
    return used == 0 || (bytes <= limit_ && used <= limit_ - bytes);
  }
  void take(std::size_t bytes) noexcept {
    const std::size_t used = used_.load(std::memory_order_relaxed) + bytes;
    used_.store(used, std::memory_order_relaxed);
    if (used > peak_.load(std::memory_order_relaxed)) peak_.store(used, std::memory_order_relaxed);
  }
  void release(std::size_t bytes) noexcept {
    job* granted = nullptr;
    job** end = &granted;
    {
      std::lock_guard lock(mutex_);
      used_.store(used_.load(std::memory_order_relaxed) - bytes, std::memory_order_relaxed);
      while (!waiting_.empty() && fits(waiting_.front()->bytes_)) {
        std::pop_heap(waiting_.begin(), waiting_.end(), acquire_awaiter::later);
        acquire_awaiter* w = waiting_.back();
        waiting_.pop_back();
        take(w->bytes_);
        w->charge_ = byte_charge(this, w->bytes_);
        w->next = nullptr;
        *end = w;
        end = &w->next;
      }
    }
    while (granted != nullptr) {
      job* j = std::exchange(granted, granted->next);
      static_cast<acquire_awaiter*>(j)->on_->post(j);
    }
  }

  const std::size_t limit_;
  std::mutex mutex_;
  std::atomic<std::size_t> used_{0};
  std::atomic<std::size_t> peak_{0};
  std::vector<acquire_awaiter*> waiting_;  // a heap, lowest position on top
};

inline void byte_charge::reset() noexcept {
  if (budget_ != nullptr) std::exchange(budget_, nullptr)->release(std::exchange(bytes_, 0));
}

}  // namespace wick
