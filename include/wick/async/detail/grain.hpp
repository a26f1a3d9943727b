/// \file
/// How long samples take, and what follows from it: how many a worker claims at a time, whether the consumer
/// may help.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include <wick/base/detail/ticks.hpp>

namespace wick::inline v0_1::detail {

/// Any thread may call any member. Numbers are hints: two threads that learn at once may lose what one of
/// them said. Inside, times are in nominal ticks, so that the constants hold for any counter.
class grain {
 public:
  /// \param rate  ticks a second of those that learn() takes
  explicit grain(std::uint64_t rate = tick_rate()) noexcept : parts_a_tick_(parts * nominal_rate / rate) {}

  static constexpr std::uint64_t max_run = 4096;
  static constexpr std::uint64_t run_ticks = 40'000;  // 10–20 µs

  /// What a run took: a moving mean a sample, and whether long ones are among them again and again.
  void learn(std::uint64_t count, std::uint64_t counted) noexcept {
    const std::uint64_t ticks = counted * parts_a_tick_ / parts;
    const std::uint64_t now = ticks / count + 1, before = each_.load(std::memory_order_relaxed);
    each_.store(before == 0 ? now : (7 * before + now) / 8, std::memory_order_relaxed);
    const std::uint64_t long_ones = long_ones_.load(std::memory_order_relaxed);
    const std::uint64_t next = ticks > long_ticks + 16 * before
                                   ? std::min(long_ones + a_long_one, 4 * a_long_one)
                                   : long_ones - std::min(long_ones, count);
    if (next != long_ones) long_ones_.store(next, std::memory_order_relaxed);
  }

  /// Samples that are claimed together: as many as take run_ticks, so that claiming costs little and a batch
  /// waits only briefly for its last run.
  std::uint64_t run_length() const noexcept {
    const std::uint64_t each = each_.load(std::memory_order_relaxed);
    return each == 0 ? 1 : std::clamp<std::uint64_t>(run_ticks / each, 1, max_run);
  }
  /// So many are claimed when they are the last of a batch: a short rest would send another worker to the
  /// same memory. When others have batches to go to, a whole one is no more than a rest: where two write one,
  /// its lines go from core to core, now and each time its memory is used again.
  std::uint64_t run_length_at_end(bool more_batches) const noexcept {
    const std::uint64_t n = run_length();
    return std::min(more_batches ? 4 * n : n + n / 2, max_run);
  }
  /// A thread that waits for its batch may take part when samples take less than about 10 µs, so that being
  /// woken for each batch would cost something, and none much longer than the others: it must not be late
  /// when its batch is ready, nor be one thread too many on the processors while it is in a long one.
  bool short_samples() const noexcept {
    return each_.load(std::memory_order_relaxed) < 25'000 &&
           long_ones_.load(std::memory_order_relaxed) <= a_long_one;
  }
  /// So few that waking a worker takes longer than running them.
  bool not_worth_a_wake(std::uint64_t samples) const noexcept {
    const std::uint64_t each = each_.load(std::memory_order_relaxed);
    return each != 0 && samples < 30'000 / each;
  }
  /// Reading clocks between the stages costs nothing next to the sample itself.
  bool slow_samples() const noexcept { return each_.load(std::memory_order_relaxed) > 10'000; }

 private:
  static constexpr std::uint64_t parts = 256;  // of a nominal tick

  // More than an interrupt (80 µs), and than a run of many. One alone is forgotten: its thread may have been
  // without a processor.
  static constexpr std::uint64_t long_ticks = 200'000;
  // A second one counts when it comes within so many samples; after four, it takes three times as many
  // without any.
  static constexpr std::uint64_t a_long_one = 400;

  const std::uint64_t parts_a_tick_;
  std::atomic<std::uint64_t> each_{0};       // nominal ticks a sample
  std::atomic<std::uint64_t> long_ones_{0};  // a_long_one for each, less one for each sample since
};

}  // namespace wick::detail
