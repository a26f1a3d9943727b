/// \file
/// The loader's clocks: one for each stage on each worker, and one for all that a worker ran.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <wick/observe/stage_clock.hpp>
#include <wick/run/executor.hpp>

namespace wick::detail {

/// The clocks of stages that don't suspend are read for some samples only, and what the others took is
/// inferred. How long runs of samples took is known of each: nothing that is said of a stage may be more than
/// that.
class stage_clocks {
 public:
  /// Rows up to `batching` and from `stages` on are of samples, those between of batches. `suspend`: samples
  /// may, so that their clocks are always read.
  stage_clocks(executor& on, std::size_t rows, std::size_t batching, std::size_t stages, bool suspend);
  stage_clocks(const stage_clocks&) = delete;
  stage_clocks& operator=(const stage_clocks&) = delete;
  ~stage_clocks();

  /// The clocks of the calling worker; may be kept as long as the coroutine does not suspend.
  [[gnu::noinline]] stage_clock* mine() noexcept { return row(on_.this_slot()); }

  /// A run of samples, by its own row of clocks.
  void ran(stage_clock* mine, std::uint64_t count, std::uint64_t ticks) const noexcept {
    mine[stages_].worked(count, ticks);
  }
  void worked(std::uint32_t stage, std::uint64_t ticks) noexcept {
    stage_clock& c = mine()[stage];
    c.ran(1);
    c.worked(1, ticks);
  }
  void worked_before_suspending(std::uint32_t stage, std::uint64_t ticks) noexcept {
    stage_clock& c = mine()[stage];
    c.ran(1);
    c.worked(1, ticks);
    c.waited(std::uint64_t{0} - ticks);  // waited() below counts from the beginning
  }
  void waited(std::uint32_t stage, std::uint64_t ticks) noexcept { mine()[stage].waited(ticks); }

  struct sum {
    std::uint64_t count = 0, timed = 0, timed_ticks = 0, waited = 0;
  };
  std::vector<sum> totals() const;

  /// All that was run so far, on workers and on threads that helped.
  struct usage {
    std::uint64_t workers = 0, helpers = 0;
  };
  usage ticks() const noexcept;
  bool of_samples(std::size_t row) const noexcept { return row <= batching_ || row >= batch_end_; }
  bool clocks_always_read() const noexcept { return suspend_; }
  /// Of all runs, as in sum::timed_ticks.
  std::uint64_t run_ticks() const noexcept;

 private:
  stage_clock* row(std::size_t slot) const noexcept { return clocks_ + slot * stride_; }

  executor& on_;
  const std::size_t stages_, batching_, batch_end_;  // stages_: rows of clocks but for that of the runs
  const bool suspend_;
  // A row for each slot, in lines of the cache of its own: one worker writes it for each run of samples.
  static constexpr std::size_t line = 64;
  const std::size_t slots_, stride_;  // of rows, in clocks
  stage_clock* const clocks_;
};

}  // namespace wick::detail
