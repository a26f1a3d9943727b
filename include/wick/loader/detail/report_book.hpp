/// \file
/// What a loader's report is made of: what the loop took, how long it waited, and the clocks of the stages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <wick/failure/ledger.hpp>
#include <wick/observe/clock.hpp>
#include <wick/observe/detail/stage_clocks.hpp>
#include <wick/observe/report.hpp>
#include <wick/observe/stall_meter.hpp>
#include <wick/run/executor.hpp>

namespace wick::detail {

/// Kept by the consumer. Threads' clocks are read when an epoch is begun, at its end, and for a report.
class report_book {
 public:
  /// What a loader's report is asked of: its executor, its clocks, and what their rows are of.
  struct subject {
    executor& on;
    const stage_clocks& clocks;
    std::size_t order_row, phase_row, batching;  // batching: the number of that stage, if there is one
  };

  /// Batches are taken from now on.
  void begin(const subject& of);
  /// There are no more, until the next epoch.
  void end(const subject& of);
  /// A batch came, for which the loop has waited since then.
  void waited(std::uint64_t begun_at) noexcept {
    const std::uint64_t now = now_ticks();
    if (last_taken_ != 0) stalls_.iteration(now - begun_at, now - last_taken_);
    last_taken_ = now;
  }
  /// Since then the loop, while it waited, ran samples.
  void helped(std::uint64_t begun_at) noexcept { helped_ticks_ += now_ticks() - begun_at; }
  /// For so long the loop did something that is no step of the training.
  void was_away(std::uint64_t ticks) noexcept {
    if (last_taken_ != 0) last_taken_ += ticks;
  }
  void took_batch() noexcept { ++taken_; }
  void took(std::uint64_t samples) noexcept { samples_ += samples; }

  /// All since it was called last. `names`: of the stages.
  report close(const subject& of, const std::vector<std::string>& names, const ledger& failures);

 private:
  /// All in seconds but the last two, which are ticks of the workers.
  struct usage {
    double time = 0, program = 0, workers = 0, io = 0, io_calls = 0;
    std::uint64_t own = 0, others = 0;

    void add(const usage& until, const usage& since) noexcept;
  };
  usage usage_of(const subject& of) const;

  stall_meter stalls_;
  std::uint64_t last_taken_ = 0;
  std::uint64_t helped_ticks_ = 0;  // since the last report
  std::uint64_t taken_ = 0, samples_ = 0;
  tick_scale scale_;
  bool taking_ = false;
  usage since_, used_;  // when taking began or was last reported; in all since the last report
  struct snapshot {
    std::vector<stage_clocks::sum> clocks;
    std::uint64_t run_ticks = 0;
    double time = 0;
    std::uint64_t taken = 0, samples = 0, failures = 0;
    std::vector<error_count> outcomes;
  } reported_;
};

}  // namespace wick::detail
