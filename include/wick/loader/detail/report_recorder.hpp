/// \file
/// What a loader's report is made of: what the loop took, how long it waited, and the clocks of the stages.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <pthread.h>
#include <string>
#include <utility>
#include <vector>

#include <wick/async/executor.hpp>
#include <wick/base/detail/clock.hpp>
#include <wick/base/detail/owned.hpp>
#include <wick/base/detail/processor_time.hpp>
#include <wick/failures/failure_log.hpp>
#include <wick/loader/detail/worker_jobs.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/pipeline/detail/budget.hpp>
#include <wick/pipeline/detail/phases.hpp>
#include <wick/profile/detail/make_report.hpp>
#include <wick/profile/detail/report_timeline.hpp>
#include <wick/profile/detail/stage_clocks.hpp>
#include <wick/profile/detail/trace_file.hpp>
#include <wick/profile/report.hpp>
#include <wick/profile/trace.hpp>

namespace wick::inline v0_1::detail {

/// Kept by the consumer. Threads' clocks are read when an epoch is begun, at its end, and for a report.
class report_recorder {
 public:
  /// The subject of a loader's report: its executor, its clocks and what their rows are of, and its settings.
  struct subject {
    executor& on;
    const stage_clocks& clocks;
    const byte_budget& budget;
    const sample_names& names;
    std::size_t first = 0, batching = 0;  ///< the number of the first stage of samples, and of batch()
    std::size_t order_row = 0, phase_row = 0;
    std::array<std::size_t, phase_count> phase_stages = {};  ///< whose time that of each phase is
    std::size_t batch = 1;
    scheduler_figures figures = {};
    std::uint64_t asked_at = now_ticks();  // before any figure was read
  };

  /// Batches are taken from now on.
  void begin(const subject& of);
  /// There are no more, until the next epoch.
  void end(const subject& of);
  /// The loop comes for a batch. When that is, in ticks.
  std::uint64_t begin_wait() noexcept {
    end_step();
    const std::uint64_t now = now_ticks();
    // The loop's time since the epoch before, and that of dropping batches for this one, is no iteration's.
    if (std::exchange(first_, false)) begun_ = came_ = now;
    return now;
  }
  /// A batch came, for which the loop has waited since then.
  void waited(std::uint64_t begun_at) noexcept {
    const std::uint64_t now = now_ticks();
    waited_ = now - begun_at;
    in_step_ = true;
    if (trace_) trace_->iteration(came_, begun_at, now);
    came_ = now;
    if (now >= next_probe_) begin_probe();
  }
  /// Since then the loop, while it waited, ran samples.
  void helped(std::uint64_t begun_at) noexcept { counted_.totals.helped_ticks += now_ticks() - begun_at; }
  void took_batch() noexcept { ++taken_; }
  /// Whether look() is wanted for the batch that came.
  bool looks() const noexcept { return timeline_.wants_depths(came_) || (trace_ && trace_->follows_batch()); }
  /// For the timeline and the trace: the batch, and what is in flight.
  void look(const queue_depths& depths, traced_batch batch) noexcept;
  /// \throws wick::error when the file can't be written; there is no trace then, nor the one before
  void trace(const subject& of, const std::vector<std::string>& names, std::uint64_t positions,
             const std::string& path, const trace_options& options);
  void stop_trace() noexcept;
  void took(std::uint64_t samples) noexcept { samples_ += samples; }

  /// All since it was called last; where that is too little for a verdict, also all since the last report
  /// that had one. `names`: of the stages.
  report close(const subject& of, const std::vector<std::string>& names, const failure_log& failures);

 private:
  /// The counts at the moment of a report.
  struct snapshot {
    std::vector<stage_clocks::sum> clocks;
    std::uint64_t first = now_ticks();
    std::uint64_t taken = 0, samples = 0, failures = 0;
    std::vector<error_count> outcomes;
  };
  /// The counts between two reports, which may have others between them.
  struct period {
    snapshot begin;
    loop_totals totals;
  };
  thread_totals usage_of(const subject& of) const;
  report_totals totals_of(const subject& of) const;
  static void add_slowest(const subject& of, report_totals& to);
  static void add_counts(const period& p, const snapshot& now, std::uint64_t last, report_totals& to);
  /// Rows of one name get numbers. Failures are known by the name: they stand in the first of them.
  static std::vector<std::string> row_names(const std::vector<std::string>& names);
  /// An iteration is a wait and the step after it. What is left of a step after a report is the next one's.
  void end_step() noexcept {
    if (probes_) end_probe();
    if (!std::exchange(in_step_, false)) return;
    const std::uint64_t now = now_ticks();
    counted_.totals.stalls.iteration(waited_, now - begun_);
    timeline_.iteration(begun_, waited_, now - begun_);
    begun_ = now;
  }
  void begin_probe() noexcept;
  void end_probe() noexcept;

  owned<trace_file> trace_;
  std::string trace_note_;  // of the one that has ended
  report_timeline timeline_;
  std::uint64_t depths_every_ = 0;        // ticks
  std::uint64_t begun_ = 0, waited_ = 0;  // of the iteration that is under way
  std::uint64_t came_ = 0;                // the batch before it
  bool first_ = true;                     // of an epoch
  bool in_step_ = false;
  std::uint64_t taken_ = 0, samples_ = 0;

  // The processor time of steps, of some of them.
  bool probes_ = false;
  std::uint64_t next_probe_ = 0, probed_at_ = 0, probe_cost_ = 0;
  thread_usage at_step_;
  std::uint64_t delay_at_step_ = 0;
  ::pthread_t step_thread_{};

  tick_scale scale_;
  bool taking_ = false;
  thread_totals since_;  // when taking began or was last reported
  period counted_;       // since the last report
  period unjudged_;      // since the last report that had a verdict, without what counted_ has
};

}  // namespace wick::detail
