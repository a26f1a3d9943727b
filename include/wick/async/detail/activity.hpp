// What suspended work is waiting for, since when, and how long it has spent on each kind of wait.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <wick/async/detail/frame_pool.hpp>
#include <wick/async/detail/resume.hpp>
#include <wick/base/detail/ticks.hpp>

namespace wick::inline v0_1::detail {

/// The kinds of waits. `nothing`: the work runs, or waits for something outside wick.
enum class wait_for : std::uint8_t {
  nothing,
  io_thread,
  io_call,  ///< on an I/O thread
  memory,
  time,
  lock,
  worker,
  server,  ///< a reply that no thread blocks on
  sample   ///< another sample, which reads what this one needs
};
inline constexpr std::size_t wait_kinds = 9;

/// Instead of a stage's number: the stage isn't known, or the source is being asked.
inline constexpr std::uint32_t in_no_stage = ~std::uint32_t{0}, in_source = in_no_stage - 1;

/// Usually one per sample. wick's awaiters record here what they wait for; they find the activity through the
/// suspending thread. It lives as long as something holds it: the work itself, or a wait during which the
/// user's code continues after the work has ended. Any thread may read. Writes come one after another, unless
/// the work waits for several things at once; then the last one counts.
class activity : public pooled_frame {
 public:
  activity() noexcept = default;
  activity(const activity&) = delete;
  activity& operator=(const activity&) = delete;

  /// The calling thread's activity, or null if it has none. Don't keep it across a suspension.
  static activity* current() noexcept { return this_thread_resumption().of.load(std::memory_order_relaxed); }
  /// The calling thread runs this activity from now on.
  void enter() noexcept { this_thread_resumption().of.store(this, std::memory_order_relaxed); }
  /// The calling thread no longer runs this activity.
  void leave() noexcept {
    std::atomic<activity*>& of = this_thread_resumption().of;
    if (of.load(std::memory_order_relaxed) == this) of.store(nullptr, std::memory_order_relaxed);
  }

  void now(wait_for what) noexcept {
    const std::uint64_t time = now_ticks();
    const auto before = static_cast<std::size_t>(what_.load(std::memory_order_relaxed));
    std::atomic<std::uint64_t>& sum = spent_[before];
    const std::uint64_t sum_before = sum.load(std::memory_order_relaxed),
                        piece = time - since_.load(std::memory_order_relaxed);
    if (before == 0 && sum_before == 0) first_.store(piece, std::memory_order_relaxed);
    sum.store(sum_before + piece, std::memory_order_relaxed);
    since_.store(time, std::memory_order_relaxed);
    what_.store(what, std::memory_order_relaxed);
  }
  wait_for what() const noexcept { return what_.load(std::memory_order_relaxed); }
  /// When it began to wait or to run again, in ticks.
  std::uint64_t since() const noexcept { return since_.load(std::memory_order_relaxed); }

  /// The ticks spent on each kind of wait; for `nothing`, the ticks it ran, as far as known.
  using times = std::array<std::uint64_t, wait_kinds>;
  /// Forgets the times so far. Called by the work itself.
  void begin() noexcept {
    for (std::atomic<std::uint64_t>& s : spent_) {
      if (s.load(std::memory_order_relaxed) != 0) s.store(0, std::memory_order_relaxed);
    }
    first_.store(0, std::memory_order_relaxed);
    call_count_.store(0, std::memory_order_relaxed);
    runs_since(now_ticks());
  }
  void runs_since(std::uint64_t time) noexcept { since_.store(time, std::memory_order_relaxed); }
  /// The times since begin().
  times spent() noexcept {
    now(wait_for::nothing);
    times out{};
    for (std::size_t i = 0; i < wait_kinds; ++i) out[i] = spent_[i].load(std::memory_order_relaxed);
    return out;
  }
  /// The part of spent()[0] before the first wait.
  std::uint64_t ran_at_first() const noexcept { return first_.load(std::memory_order_relaxed); }

  /// A call on an I/O thread.
  struct call {
    std::uint64_t begun = 0, ended = 0;  // ticks
    std::uint32_t thread = 0;
  };
  static constexpr std::size_t calls_kept = 2;
  /// Records a call that has ended. Called by the thread that made it, before the work continues; several
  /// threads may call this at once.
  void called(const call& c) noexcept {
    noted_call& to = calls_[call_count_.fetch_add(1, std::memory_order_relaxed) % calls_kept];
    to.begun.store(c.begun, std::memory_order_relaxed);
    to.ended.store(c.ended, std::memory_order_relaxed);
    to.thread.store(c.thread, std::memory_order_relaxed);
  }
  /// The number of calls since begin(); the last `calls_kept` are known.
  std::size_t calls() const noexcept { return call_count_.load(std::memory_order_relaxed); }
  call call_at(std::size_t i) const noexcept {
    const noted_call& c = calls_[i % calls_kept];
    return {c.begun.load(std::memory_order_relaxed), c.ended.load(std::memory_order_relaxed),
            c.thread.load(std::memory_order_relaxed)};
  }

  void keep() noexcept { kept_.fetch_add(1, std::memory_order_relaxed); }
  void drop() noexcept {
    if (kept_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    leave();  // this thread may continue with other code after the sample's end
    delete this;
  }

  /// The current stage, and the I/O thread that makes its call: see hang_watch.
  std::atomic<std::uint32_t> stage{in_no_stage}, io_thread{0};

 private:
  ~activity() = default;

  struct noted_call {
    std::atomic<std::uint64_t> begun{0}, ended{0};
    std::atomic<std::uint32_t> thread{0};
  };
  std::array<std::atomic<std::uint64_t>, wait_kinds> spent_{};
  std::array<noted_call, calls_kept> calls_;
  std::atomic<std::uint32_t> call_count_{0};
  std::atomic<std::uint64_t> first_{0}, since_{0};
  std::atomic<std::uint32_t> kept_{1};
  std::atomic<wait_for> what_{wait_for::nothing};
};

/// A member of the work that the activity describes.
class own_activity {
 public:
  own_activity() noexcept = default;
  own_activity(const own_activity&) = delete;
  own_activity& operator=(const own_activity&) = delete;
  ~own_activity() {
    if (mine_ == nullptr) return;
    mine_->leave();
    mine_->drop();
  }
  /// Gives the work on the calling thread an activity that has been running since `since` (ticks). \throws
  /// std::bad_alloc
  void begin(std::uint64_t since) {
    mine_ = new activity;
    mine_->runs_since(since);
    mine_->enter();
  }
  activity* get() const noexcept { return mine_; }

 private:
  activity* mine_ = nullptr;
};

/// One wait; a member of an awaiter.
class noted_wait {
 public:
  noted_wait() noexcept = default;
  /// For an awaiter that is moved before it is awaited.
  noted_wait(const noted_wait&) noexcept {}
  noted_wait& operator=(const noted_wait&) = delete;
  ~noted_wait() {
    if (of_ != nullptr) of_->drop();
  }
  /// Called on the suspending thread, before another thread could resume the work.
  void begin(wait_for what) noexcept {
    of_ = activity::current();
    if (of_ == nullptr) return;
    of_->keep();
    of_->now(what);
  }
  /// From now on the wait is for `what`. Called by the thread that causes the change.
  void now(wait_for what) noexcept {
    if (of_ != nullptr) of_->now(what);
  }
  /// The call starts now, on this thread.
  void calls(std::uint32_t thread) noexcept {
    if (of_ == nullptr) return;
    of_->io_thread.store(thread, std::memory_order_relaxed);
    of_->now(wait_for::io_call);
  }
  /// The awaited call has ended. Called by the thread that made it.
  void called(std::uint64_t begun, std::uint32_t thread) noexcept {
    if (of_ != nullptr) of_->called({begun, now_ticks(), thread});
  }
  /// Called on the thread that continues.
  void end() noexcept {
    if (of_ == nullptr) return;
    of_->now(wait_for::nothing);
    of_->enter();
    std::exchange(of_, nullptr)->drop();
  }

 private:
  activity* of_ = nullptr;
};

}  // namespace wick::detail
