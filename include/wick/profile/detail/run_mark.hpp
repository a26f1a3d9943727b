// The run of samples that a worker is in, so that another thread can see where it hangs.
#pragma once

#include <atomic>
#include <cstdint>

#include <wick/async/detail/activity.hpp>
#include <wick/async/detail/resume.hpp>
#include <wick/profile/detail/hang_scene.hpp>

namespace wick::inline v0_1::detail {

/// Written by one slot of an executor: once a run, and every few samples. When samples are timed one by one,
/// each sample and its stage is noted. Read by any thread.
class run_mark {
 public:
  static constexpr std::uint64_t few = 32;  ///< samples computed together

  /// \param count  samples, fewer than 2^16; 0: the stages after batch() run
  void begin(std::uint64_t sequence, std::uint64_t position, std::uint64_t count,
             std::uint64_t since) noexcept {
    since_.store(since, std::memory_order_relaxed);
    reach(position, count);
    batch_.store((sequence + 1) << 16 | count, std::memory_order_release);
  }
  /// The run is at one of these samples.
  void reach(std::uint64_t position, std::uint64_t count) noexcept {
    reached_.store(position << 16 | count, std::memory_order_relaxed);
  }
  /// The indexes of these positions are known now. `ahead`: the run may still be at the previous few.
  void computed(std::uint64_t position, std::uint64_t n, bool ahead) noexcept {
    if (n == (batch_.load(std::memory_order_relaxed) & 0xFFFF)) return;
    if (position == reached_.load(std::memory_order_relaxed) >> 16) ahead = false;  // the first
    reach(ahead ? position - few : position, ahead ? few + n : n);
  }
  void end() noexcept { batch_.store(0, std::memory_order_relaxed); }
  /// So many samples of a run that begins samples have ended; they are counted in their batch when the run
  /// ends.
  void ended(std::uint64_t sequence, std::uint64_t count) noexcept {
    ended_.store((sequence + 1) << 16 | count, std::memory_order_relaxed);
  }
  /// Their number, if the run is of this batch.
  std::uint64_t ended_of(std::uint64_t sequence) const noexcept {
    const std::uint64_t ended = ended_.load(std::memory_order_relaxed);
    return ended >> 16 == sequence + 1 ? ended & 0xFFFF : 0;
  }
  /// Ends a run whose stages were noted.
  void end_shown() noexcept {
    stage.store(in_no_stage, std::memory_order_relaxed);
    end();
  }
  /// False without a run, or if the run changes during the read. `sequence`: its batch's.
  bool read(hang_scene::place& out, std::uint64_t& sequence) const noexcept {
    const std::uint64_t batch = batch_.load(std::memory_order_acquire),
                        reached = reached_.load(std::memory_order_relaxed);
    sequence = (batch >> 16) - 1;
    out.since = since_.load(std::memory_order_relaxed);
    out.counted = batch & 0xFFFF;
    out.first = reached >> 16;
    out.samples = reached & 0xFFFF;
    out.stage = stage.load(std::memory_order_relaxed);
    return batch != 0 && batch_.load(std::memory_order_relaxed) == batch &&
           since_.load(std::memory_order_relaxed) == out.since;
  }

  std::atomic<std::uint32_t> stage{in_no_stage};
  std::atomic<const resumption*> thread{nullptr};  ///< while it begins samples that may suspend

 private:
  // batch_: sequence number + 1 and, in 16 bits, the run's samples; 0: no run. reached_: a position and
  // samples.
  std::atomic<std::uint64_t> batch_{0}, reached_{0};
  std::atomic<std::uint64_t> since_{0};  // ticks
  std::atomic<std::uint64_t> ended_{0};  // as batch_
};

}  // namespace wick::detail
