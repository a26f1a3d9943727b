// A bound on memory in flight: samples take bytes before they are read and give them back once they are
// decoded.
#pragma once

#include <algorithm>
#include <atomic>
#include <compare>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include <wick/async/detail/activity.hpp>
#include <wick/async/detail/resume.hpp>
#include <wick/async/detail/timer_queue.hpp>
#include <wick/async/executor.hpp>
#include <wick/base/detail/condition.hpp>
#include <wick/base/detail/duration.hpp>
#include <wick/base/detail/process.hpp>

namespace wick::inline v0_1::detail {

class byte_budget;

/// Whose turn it is when memory is short: the lowest first, pass by pass through the data.
struct turn {
  std::uint64_t pass = 0;
  std::uint64_t position = 0;

  constexpr turn(std::uint64_t in_pass, std::uint64_t at) noexcept : pass(in_pass), position(at) {}
  constexpr turn(std::uint64_t at) noexcept : position(at) {}  // NOLINT: a position alone is a turn
  friend constexpr auto operator<=>(const turn&, const turn&) = default;
};

/// Bytes taken from a budget; given back when this is destroyed, on any thread.
class [[nodiscard]] byte_charge {
 public:
  byte_charge() noexcept = default;
  byte_charge(byte_charge&& other) noexcept
      : budget_(std::exchange(other.budget_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  /// Gives back at once what this held.
  byte_charge& operator=(byte_charge&& other) noexcept {
    byte_charge old(std::move(other));
    std::swap(budget_, old.budget_);
    std::swap(bytes_, old.bytes_);
    return *this;
  }
  ~byte_charge() { reset(); }
  std::size_t bytes() const noexcept { return bytes_; }
  /// Splits off up to `n` bytes as a separate charge.
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

/// The bytes that one piece of work has taken from a budget, possibly in several steps; they are all given
/// back at once. Several coroutines of that work may take bytes at the same time.
class byte_account {
 public:
  byte_account() noexcept = default;
  byte_account(const byte_account&) = delete;
  byte_account& operator=(const byte_account&) = delete;
  ~byte_account() { give_back(); }
  /// Don't call it while a coroutine takes bytes for this account.
  inline void give_back() noexcept;

 private:
  friend class byte_budget;
  byte_budget* budget_ = nullptr;  // null until something was taken
  std::size_t bytes_ = 0;          // this and the next: under the budget's mutex
  std::size_t waiting_ = 0;
};

/// A number of bytes that many coroutines share. A coroutine that finds too few suspends; grants go to the
/// lowest turn first, since an ordered consumer waits for that one.
///
/// A small budget makes a pipeline slow but never stuck. A request for more than the whole budget is let
/// through when no other bytes are out. When all bytes that are out belong to accounts that wait for more,
/// one of those is let through. The same happens when a coroutine waits and nothing is given back for
/// `patience`, or for a hundredth of it while the executor is at rest (twice as long each time): the holder
/// of the bytes may be waiting for that coroutine, perhaps for a lock in the user's code. The waiter let
/// through is the lowest turn that already holds bytes, since it may have a lock and gives bytes back;
/// otherwise the lowest turn.
///
/// Any thread may take and give back. A thread that gives bytes back hands them to the waiters before it
/// returns. They continue on their executor, which must outlive the budget. The budget must outlive its
/// charges and accounts, and no coroutine may wait when it is destroyed. A cancelled waiter stays in the
/// queue: when its turn comes, it gives the bytes back at once.
class byte_budget {
 public:
  using clock = timer::clock;

  explicit byte_budget(std::size_t limit, clock::duration patience = std::chrono::seconds(1)) noexcept;
  byte_budget(const byte_budget&) = delete;
  byte_budget& operator=(const byte_budget&) = delete;
  ~byte_budget();

  std::size_t limit() const noexcept { return limit_; }
  /// The bytes that are out at this moment, for reports; the number may already be out of date.
  std::size_t used() const noexcept { return used_.load(std::memory_order_relaxed); }
  /// The most bytes that were ever out at one time.
  std::size_t peak() const noexcept { return peak_.load(std::memory_order_relaxed); }

  /// Takes all of the bytes at once, or none, and then returns an empty charge. Any thread. Never overtakes a
  /// waiting request.
  byte_charge try_acquire(std::size_t bytes) noexcept;
  /// The same, into an account.
  bool try_acquire(byte_account& into, std::size_t bytes) noexcept;

  class waiter : protected job {
   public:
    [[gnu::noinline]] bool await_suspend(std::coroutine_handle<> handle) {
      handle_ = handle;
      execute = [](job* j) noexcept { detail::resume(static_cast<waiter*>(j)->handle_); };
      wait_.begin(wait_for::memory);
      try {
        if (budget_->wait(this)) return true;
      } catch (...) {
        wait_.end();
        throw;
      }
      wait_.end();
      return false;
    }

   protected:
    waiter(byte_budget* budget, byte_account* into, executor& on, std::size_t bytes, turn at) noexcept
        : budget_(budget), into_(into), on_(&on), bytes_(bytes), turn_(at) {}
    byte_budget* budget_;

   private:
    friend class byte_budget;
    static bool later(const waiter* a, const waiter* b) noexcept { return a->turn_ > b->turn_; }
    byte_account* into_;  // null: for a charge
    executor* on_;
    std::size_t bytes_;
    turn turn_;
    std::coroutine_handle<> handle_;
    noted_wait wait_;
    bool granted_ = false;

   protected:
    void end_wait() noexcept { wait_.end(); }
    std::size_t bytes() const noexcept { return bytes_; }
    byte_account* into() const noexcept { return into_; }
  };

  class [[nodiscard]] acquire_awaiter : public waiter {
   public:
    bool await_ready() noexcept {
      at_once_ = budget_->try_acquire(bytes());
      return static_cast<bool>(at_once_);
    }
    byte_charge await_resume() noexcept {
      end_wait();
      return at_once_ ? std::move(at_once_) : byte_charge(budget_, bytes());
    }

   private:
    friend class byte_budget;
    acquire_awaiter(byte_budget* budget, executor& on, std::size_t bytes, turn at) noexcept
        : waiter(budget, nullptr, on, bytes, at) {}
    byte_charge at_once_;
  };
  class [[nodiscard]] account_awaiter : public waiter {
   public:
    bool await_ready() noexcept { return budget_->try_acquire(*into(), bytes()); }
    void await_resume() noexcept { end_wait(); }

   private:
    friend class byte_budget;
    account_awaiter(byte_budget* budget, byte_account& into, executor& on, std::size_t bytes,
                    turn at) noexcept
        : waiter(budget, &into, on, bytes, at) {}
  };

  /// `byte_charge c = co_await budget.acquire(on, n, turn)`: suspends until n bytes are free; resumes on
  /// `on`. A coroutine that waits while it holds a charge can deadlock: use an account if there is more than
  /// one step. Awaiting throws std::bad_alloc.
  acquire_awaiter acquire(executor& on, std::size_t bytes, turn at) noexcept { return {this, on, bytes, at}; }
  /// `co_await budget.acquire(account, on, n, turn)`: n more bytes for `account`, which must outlive the
  /// wait.
  account_awaiter acquire(byte_account& into, executor& on, std::size_t bytes, turn at) noexcept {
    return {this, into, on, bytes, at};
  }

 private:
  friend class byte_charge;
  friend class byte_account;

  // ---- under the mutex ----

  /// Whether all bytes that are out belong to accounts that wait for more.
  bool all_wait() const noexcept { return used_.load(std::memory_order_relaxed) <= idle_; }
  bool fits(std::size_t bytes) const noexcept {
    const std::size_t used = used_.load(std::memory_order_relaxed);
    return bytes <= limit_ && used <= limit_ - bytes;
  }
  void take(std::size_t bytes) noexcept {
    const std::size_t used = used_.load(std::memory_order_relaxed) + bytes;
    used_.store(used, std::memory_order_relaxed);
    if (used > peak_.load(std::memory_order_relaxed)) peak_.store(used, std::memory_order_relaxed);
  }
  void credit(byte_account& to, std::size_t bytes) noexcept {
    to.budget_ = this;
    to.bytes_ += bytes;
    if (to.waiting_ != 0) idle_ += bytes;
  }
  /// Serves the lowest turn, and adds it to a list of jobs to post.
  void serve(job**& end) noexcept;
  /// Serves one waiter beyond the limit.
  void let_through(job**& end) noexcept;
  void serve_last(job**& end) noexcept;
  void serve_all_that_fit(job**& end) noexcept;
  void watch(executor& on) noexcept;

  // ---- taking it ----

  static void post_all(job* first) noexcept;

  /// Whether `w` has to wait.
  bool wait(waiter* w);

  void release(std::size_t bytes, byte_account* from = nullptr) noexcept;

  /// Called on the timers' thread now and then, as long as a coroutine waits.
  void look(bool on_time) noexcept;

  struct watch_timer : timer {
    byte_budget* of = nullptr;
  };
  /// How long nothing may be given back before a waiter is let through: twice as long each time.
  struct span {
    clock::duration least, now = least;
    void longer() noexcept {
      if (now < std::chrono::seconds(60)) now *= 2;
    }
    void shorter() noexcept { now = std::max(now / 2, least); }
  };

  const detail::process_mark born_;
  const std::size_t limit_;
  std::mutex mutex_;
  std::atomic<std::size_t> used_{0};
  std::atomic<std::size_t> peak_{0};
  std::size_t idle_ = 0;          // the part of used_ held by accounts that wait
  std::vector<waiter*> waiting_;  // a heap, lowest turn on top

  span patience_, at_rest_;    // while the executor has work, and while it has none
  clock::time_point since_{};  // when bytes were given back or one was let through, as look() saw it
  bool given_back_ = false;    // since the last look
  bool rested_ = false;        // whether the executor was at rest at the last look
  executor* watched_on_ = nullptr;
  watch_timer watch_;
  detail::condition unwatched_;
};

inline void byte_charge::reset() noexcept {
  if (budget_ != nullptr) std::exchange(budget_, nullptr)->release(std::exchange(bytes_, 0));
}
inline void byte_account::give_back() noexcept {
  if (budget_ != nullptr) std::exchange(budget_, nullptr)->release(0, this);
}

}  // namespace wick::detail
