// How long samples take. That decides how many a worker claims at a time, and whether the consumer may help.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include <wick/base/detail/ticks.hpp>

namespace wick::inline v0_1::detail {

/// Any thread may call any member. The numbers are hints: if two threads learn at once, one update may be
/// lost. Internally, times are in nominal ticks, so that the constants hold for any counter.
class grain {
 public:
  /// \param workers  how many claim runs
  /// \param rate  ticks per second of the counter that learn() gets
  explicit grain(std::size_t workers, std::uint64_t rate = tick_rate()) noexcept
      : parts_a_tick_(parts * nominal_rate / rate),
        run_ticks_(run_ticks * std::max(workers, workers_at_ease) / workers_at_ease),
        long_ticks_(std::max(long_ticks, 5 * run_ticks_)) {}

  static constexpr std::uint64_t max_run = 4096;
  static constexpr std::uint64_t run_ticks = 40'000;  // 10–20 µs
  /// All workers claim from one cache line, which moves twice for each run: 0.2 to 0.5 µs. More workers than
  /// these take longer runs where a batch has enough samples, so that claims don't come faster than that.
  static constexpr std::size_t workers_at_ease = 16;

  /// Records how long a run took: updates the moving mean per sample, and whether long runs keep coming. All
  /// workers read these numbers, so a mean that is right to an eighth stays as it is.
  void learn(std::uint64_t count, std::uint64_t counted) noexcept {
    const std::uint64_t ticks = counted * parts_a_tick_ / parts;
    const std::uint64_t now = ticks / count + 1, before = each_.load(std::memory_order_relaxed);
    if (before == 0) {
      each_.store(now, std::memory_order_relaxed);
    } else if ((now > before ? now - before : before - now) > before / 8) {
      const std::uint64_t mean = now > before ? before + (now - before + 7) / 8 : (7 * before + now) / 8;
      each_.store(mean, std::memory_order_relaxed);
    }
    const std::uint64_t long_ones = long_ones_.load(std::memory_order_relaxed);
    const std::uint64_t next = ticks > long_ticks_ + 16 * before
                                   ? std::min(long_ones + a_long_one, 4 * a_long_one)
                                   : long_ones - std::min(long_ones, count);
    if (next != long_ones) long_ones_.store(next, std::memory_order_relaxed);
  }

  /// How many samples to claim together: as many as take run_ticks (of many workers, longer), so that
  /// claiming costs little and a batch waits only briefly for its last run.
  /// \param most  the most samples of a long run: a share of a batch, so that all workers have some
  std::uint64_t run_length(std::uint64_t most) const noexcept {
    const std::uint64_t each = each_.load(std::memory_order_relaxed);
    if (each == 0) return 1;
    const std::uint64_t least = std::clamp<std::uint64_t>(run_ticks / each, 1, max_run);
    return std::max(least, std::min({run_ticks_ / each, most, max_run}));
  }
  /// How many samples to claim if they are the last of a batch: a short rest would send another worker to the
  /// same memory. If others have batches to work on, even a whole small batch counts as a rest: when two
  /// workers write one batch, its cache lines move from core to core, now and each time its memory is reused.
  std::uint64_t run_length_at_end(bool more_batches) const noexcept {
    const std::uint64_t n = run_length(0);
    return std::min(more_batches ? 4 * n : n + n / 2, max_run);
  }
  /// How long a worker claims runs before it checks whether others wait, in nominal ticks.
  std::uint64_t turn_ticks() const noexcept { return 2 * run_ticks_; }
  /// Whether a thread that waits for its batch may take part: samples take less than about 10 µs, so that a
  /// wake-up per batch would cost something, and none takes much longer than the others. The thread must not
  /// be late when its batch is ready, nor be one thread too many on the processors while it runs a long
  /// sample.
  bool short_samples() const noexcept {
    return each_.load(std::memory_order_relaxed) < 25'000 &&
           long_ones_.load(std::memory_order_relaxed) <= a_long_one;
  }
  /// Whether these are so few samples that waking a worker takes longer than running them.
  bool not_worth_a_wake(std::uint64_t samples) const noexcept {
    const std::uint64_t each = each_.load(std::memory_order_relaxed);
    return each != 0 && samples < 30'000 / each;
  }
  /// Whether reading clocks between the stages costs nothing compared with the sample itself.
  bool slow_samples() const noexcept { return each_.load(std::memory_order_relaxed) > 10'000; }

 private:
  static constexpr std::uint64_t parts = 256;  // per nominal tick

  // Longer than an interrupt (80 µs), and than a run of many samples. A single one is forgotten: its thread
  // may have lost its processor.
  static constexpr std::uint64_t long_ticks = 200'000;
  // A second one counts if it comes within this many samples; after four, it takes three times as many
  // samples without one to recover.
  static constexpr std::uint64_t a_long_one = 400;

  const std::uint64_t parts_a_tick_, run_ticks_, long_ticks_;
  std::atomic<std::uint64_t> each_{0};       // nominal ticks per sample
  std::atomic<std::uint64_t> long_ones_{0};  // a_long_one for each, minus one for each sample since
};

}  // namespace wick::detail
