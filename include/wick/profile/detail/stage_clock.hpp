// A stage's times: how often it ran, how long it worked, how long it waited and for what.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include <wick/async/detail/activity.hpp>
#include <wick/profile/detail/durations.hpp>

namespace wick::inline v0_1::detail {

/// One piece of work: its time, and the part with a processor.
struct probe {
  std::uint64_t ticks = 0, nanoseconds = 0;
  bool blocked = false;  ///< it gave up the processor, in a lock or a blocking call, and wasn't just
                         ///< preempted
};
/// The sum of several probes.
struct probes {
  std::uint64_t count = 0, ticks = 0, nanoseconds = 0;
  std::uint64_t blocked_ticks = 0, blocked_nanoseconds = 0;  ///< of the probes that blocked

  void add(const probes& o) noexcept {
    count += o.count;
    ticks += o.ticks;
    nanoseconds += o.nanoseconds;
    blocked_ticks += o.blocked_ticks;
    blocked_nanoseconds += o.blocked_nanoseconds;
  }
  void subtract(const probes& o) noexcept {
    count -= o.count;
    ticks -= o.ticks;
    nanoseconds -= o.nanoseconds;
    blocked_ticks -= o.blocked_ticks;
    blocked_nanoseconds -= o.blocked_nanoseconds;
  }
};

/// One stage on one worker. Written by that worker only, read by any thread that makes a report: plain loads
/// and stores, relaxed, because a report needs each number whole but not all of the same instant. Only some
/// short samples are timed, and the total is inferred from those. Processor time is read even less often,
/// since it takes a system call.
class alignas(64) stage_clock {
 public:
  void ran(std::uint64_t times) noexcept { add(count_, times); }
  void worked(std::uint64_t times, std::uint64_t ticks) noexcept {
    add(timed_, times);
    add(ticks_, ticks);
  }
  /// Of one sample, or of one run.
  void probed(const probe& p) noexcept {
    add(probes_, 1);
    add(probed_, p.ticks);
    add(processor_, p.nanoseconds);
    if (!p.blocked) return;
    add(blocked_, p.ticks);
    add(blocked_processor_, p.nanoseconds);
  }

  std::uint64_t count() const noexcept { return count_.load(std::memory_order_relaxed); }
  std::uint64_t timed() const noexcept { return timed_.load(std::memory_order_relaxed); }
  std::uint64_t timed_ticks() const noexcept { return ticks_.load(std::memory_order_relaxed); }
  /// The processor time of the probed ones.
  probes probed() const noexcept {
    return {probes_.load(std::memory_order_relaxed), probed_.load(std::memory_order_relaxed),
            processor_.load(std::memory_order_relaxed), blocked_.load(std::memory_order_relaxed),
            blocked_processor_.load(std::memory_order_relaxed)};
  }

 private:
  static void add(std::atomic<std::uint64_t>& to, std::uint64_t n) noexcept {
    to.store(to.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  std::atomic<std::uint64_t> count_{0}, timed_{0}, ticks_{0};
  std::atomic<std::uint64_t> probes_{0}, probed_{0}, processor_{0}, blocked_{0}, blocked_processor_{0};
};

static_assert(sizeof(stage_clock) == 64, "wick: a worker writes all of its clocks of a run: a line each");

/// Records of single samples: their times in the stage, the slowest, and their waits.
class stage_record {
 public:
  /// A sample took `ticks`; `index` is its place in the source.
  void took(std::uint64_t ticks, std::uint64_t index) noexcept {
    times_.add(ticks);
    if (ticks <= slowest_.load(std::memory_order_relaxed)) return;
    slowest_.store(ticks, std::memory_order_relaxed);
    slowest_index_.store(index, std::memory_order_relaxed);
  }
  /// The total time that a sample was suspended.
  void waited(std::uint64_t ticks) noexcept { add(waits_[0], ticks); }
  /// The parts of that time, by cause.
  void waited_for(const activity::times& ticks) noexcept {
    for (std::size_t i = 1; i < wait_kinds; ++i) {
      if (ticks[i] != 0) add(waits_[i], ticks[i]);
    }
  }
  /// The processor time of a sample that took very long.
  void cost(std::uint64_t nanoseconds, std::uint64_t index) noexcept {
    if (nanoseconds <= costliest_.load(std::memory_order_relaxed)) return;
    costliest_.store(nanoseconds, std::memory_order_relaxed);
    costliest_index_.store(index, std::memory_order_relaxed);
  }
  /// A sample that took `ticks` had a processor for `of_processor` of them, without locks or blocking calls.
  void had(std::uint64_t ticks, std::uint64_t of_processor) noexcept { turns_.move(ticks, of_processor); }
  /// A sample that took very long. Each of these is probed.
  void took_long(const probe& p) noexcept {
    add(long_[0], 1);
    add(long_[1], p.ticks);
    add(long_[2], p.nanoseconds);
    if (!p.blocked) return;
    add(long_[3], p.ticks);
    add(long_[4], p.nanoseconds);
  }
  /// A sample reserved memory in this stage.
  void reserved(std::uint64_t bytes) noexcept {
    add(bytes_, bytes);
    sizes_.add(bytes);
  }

  const duration_counts& times() const noexcept { return times_; }
  /// The corrections of times() from had().
  const duration_counts& turns() const noexcept { return turns_; }
  /// The bytes that samples reserved.
  const duration_counts& sizes() const noexcept { return sizes_; }
  probes long_ones() const noexcept {
    return {long_[0].load(std::memory_order_relaxed), long_[1].load(std::memory_order_relaxed),
            long_[2].load(std::memory_order_relaxed), long_[3].load(std::memory_order_relaxed),
            long_[4].load(std::memory_order_relaxed)};
  }
  std::uint64_t bytes() const noexcept { return bytes_.load(std::memory_order_relaxed); }
  /// For a moment, the time and the index may be of different samples.
  std::uint64_t slowest() const noexcept { return slowest_.load(std::memory_order_relaxed); }
  std::uint64_t slowest_index() const noexcept { return slowest_index_.load(std::memory_order_relaxed); }
  std::uint64_t costliest() const noexcept { return costliest_.load(std::memory_order_relaxed); }
  std::uint64_t costliest_index() const noexcept { return costliest_index_.load(std::memory_order_relaxed); }
  std::uint64_t waited() const noexcept { return waited(wait_for::nothing); }
  std::uint64_t waited(wait_for what) const noexcept {
    return waits_[static_cast<std::size_t>(what)].load(std::memory_order_relaxed);
  }
  /// The next report starts without a slowest sample. Any thread may call it; a slower sample that ends at
  /// the same moment may be missed.
  void forget_slowest() noexcept {
    slowest_.store(0, std::memory_order_relaxed);
    costliest_.store(0, std::memory_order_relaxed);
  }

 private:
  static void add(std::atomic<std::uint64_t>& to, std::uint64_t n) noexcept {
    to.store(to.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  duration_counts times_, turns_, sizes_;
  std::atomic<std::uint64_t> slowest_{0}, slowest_index_{0}, costliest_{0}, costliest_index_{0}, bytes_{0};
  std::array<std::atomic<std::uint64_t>, 5> long_{};
  std::array<std::atomic<std::uint64_t>, wait_kinds> waits_{};  // the first is the total
};

}  // namespace wick::detail
