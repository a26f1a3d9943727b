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
#include <wick/pipeline/detail/kept_bytes.hpp>

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

/// The bytes that one piece of work has taken from a budget, possibly in several steps; they are all given
/// back at once, by give_back() or when this is destroyed, on any thread. Several coroutines of that work may
/// take bytes at the same time.
class byte_account {
 public:
  byte_account() noexcept = default;
  byte_account(const byte_account&) = delete;
  byte_account& operator=(const byte_account&) = delete;
  ~byte_account() { give_back(); }
  /// Don't call it while a coroutine takes bytes for this account.
  inline void give_back() noexcept;
  /// The bytes taken since the last call or since the last were given back. `alone`: no other thread calls it
  /// meanwhile.
  std::size_t newly_taken(bool alone) noexcept {
    const std::size_t now = bytes_.load(std::memory_order_relaxed);
    std::size_t before = reported_.load(std::memory_order_relaxed);
    if (alone) {
      reported_.store(now, std::memory_order_relaxed);
      return now - before;
    }
    while (before < now) {
      if (reported_.compare_exchange_weak(before, now, std::memory_order_relaxed)) return now - before;
    }
    return 0;
  }

 private:
  friend class byte_budget;
  std::atomic<byte_budget*> budget_{nullptr};  // null until something was taken
  std::atomic<std::size_t> bytes_{0}, reported_{0};
  std::size_t waiting_ = 0;  // coroutines; this and the next: under the budget's mutex
  std::size_t idle_ = 0;     // the part of bytes_ that the budget has counted as held by who waits
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
/// accounts, and no coroutine may wait when it is destroyed. A cancelled waiter stays in the queue: when its
/// turn comes, it gives the bytes back at once.
///
/// As long as there is room, workers keep a few bytes ready, which count as out: see kept_bytes. They begin
/// to when 256 of their requests in a row were granted at once through the mutex. As soon as a request
/// doesn't fit, the bytes come back, and the count begins again.
class byte_budget {
 public:
  using clock = timer::clock;

  /// \param workers  their threads may keep bytes ready; null: none do. \throws std::bad_alloc
  explicit byte_budget(std::size_t limit, clock::duration patience = std::chrono::seconds(1),
                       const executor* workers = nullptr);
  byte_budget(const byte_budget&) = delete;
  byte_budget& operator=(const byte_budget&) = delete;
  ~byte_budget();

  std::size_t limit() const noexcept { return limit_; }
  /// The bytes that are out at this moment, for reports; the number may already be out of date.
  std::size_t used() const noexcept {
    const std::size_t used = used_.load(std::memory_order_relaxed);
    return used - std::min(used, kept_.sum());
  }
  /// The most bytes that were ever out at one time, with those that workers kept ready: up to 256 KiB each.
  std::size_t peak() const noexcept { return peak_.load(std::memory_order_relaxed); }

  /// Takes all of the bytes at once, or none. Any thread. Never overtakes a waiting request.
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
    waiter(byte_budget* budget, byte_account& into, executor& on, std::size_t bytes, turn at) noexcept
        : budget_(budget), into_(&into), on_(&on), bytes_(bytes), turn_(at) {}
    byte_budget* budget_;

   private:
    friend class byte_budget;
    static bool later(const waiter* a, const waiter* b) noexcept { return a->turn_ > b->turn_; }
    byte_account* into_;
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

  class [[nodiscard]] account_awaiter : public waiter {
   public:
    bool await_ready() noexcept { return budget_->try_acquire(*into(), bytes()); }
    void await_resume() noexcept { end_wait(); }

   private:
    friend class byte_budget;
    account_awaiter(byte_budget* budget, byte_account& into, executor& on, std::size_t bytes,
                    turn at) noexcept
        : waiter(budget, into, on, bytes, at) {}
  };

  /// `co_await budget.acquire(account, on, n, turn)`: suspends until n bytes are free, and takes them for
  /// `account`, which must outlive the wait; resumes on `on`. Awaiting throws std::bad_alloc.
  account_awaiter acquire(byte_account& into, executor& on, std::size_t bytes, turn at) noexcept {
    return {this, into, on, bytes, at};
  }

 private:
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
  /// Counts as idle what an account holds while it waits. This and credit() change the account's bytes: if
  /// credit() comes second, it sees that kept bytes were collected before, and its caller calls this, too.
  void count_idle(byte_account& of) noexcept {
    if (of.waiting_ == 0) return;
    const std::size_t more = of.bytes_.fetch_add(0, std::memory_order_acq_rel) - of.idle_;
    of.idle_ += more;
    idle_ += more;
  }
  /// From now on no thread keeps bytes ready.
  void collect_kept() noexcept {
    used_.store(used_.load(std::memory_order_relaxed) - kept_.collect(), std::memory_order_relaxed);
    fitted_ = 0;
  }
  /// Serves the lowest turn, and adds it to a list of jobs to post.
  void serve(job**& end) noexcept;
  /// Serves one waiter beyond the limit.
  void let_through(job**& end) noexcept;
  void serve_last(job**& end) noexcept;
  void serve_all_that_fit(job**& end) noexcept;
  void watch(executor& on) noexcept;

  // ---- taking it ----

  static constexpr std::size_t most_kept = std::size_t{256} << 10;  // by a thread

  std::size_t this_slot() const noexcept {
    return workers_ != nullptr ? workers_->this_slot() : executor::none;
  }
  static void post_all(job* first) noexcept;

  /// Whether `w` has to wait.
  bool wait(waiter* w);

  void credit(byte_account& to, std::size_t bytes) noexcept {
    to.budget_.store(this, std::memory_order_relaxed);
    to.bytes_.fetch_add(bytes, std::memory_order_acq_rel);
  }
  void release(byte_account& from) noexcept;

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
  const executor* const workers_;
  kept_bytes kept_;
  alignas(64) std::mutex mutex_;  // not on the line that lock-free requests read
  std::atomic<std::size_t> used_{0};
  std::atomic<std::size_t> peak_{0};
  std::size_t idle_ = 0;          // the part of used_ held by accounts that wait
  unsigned fitted_ = 0;           // requests that have fit since the kept bytes were collected
  std::vector<waiter*> waiting_;  // a heap, lowest turn on top

  span patience_, at_rest_;    // while the executor has work, and while it has none
  clock::time_point since_{};  // when bytes were given back or one was let through, as look() saw it
  bool given_back_ = false;    // since the last look
  bool rested_ = false;        // whether the executor was at rest at the last look
  executor* watched_on_ = nullptr;
  watch_timer watch_;
  detail::condition unwatched_;
};

inline void byte_account::give_back() noexcept {
  byte_budget* const budget = budget_.load(std::memory_order_relaxed);
  if (budget == nullptr) return;
  budget_.store(nullptr, std::memory_order_relaxed);
  budget->release(*this);
}

}  // namespace wick::detail
