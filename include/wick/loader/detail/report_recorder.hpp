// Collects the data for a loader's report: what the loop took, how long it waited, and the stages' clocks.
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

/// Used by the consumer. Threads' clocks are read when an epoch begins, at its end, and for a report.
class report_recorder {
 public:
  /// The subject of a loader's report: its executor, its clocks and the meaning of their rows, and its
  /// settings.
  struct subject {
    executor& on;
    const stage_clocks& clocks;
    const byte_budget& budget;
    const sample_names& names;
    std::size_t first = 0, batching = 0;  ///< the number of the first stage of samples, and of batch()
    std::size_t order_row = 0, phase_row = 0;
    std::array<std::size_t, phase_count> phase_stages = {};  ///< the stage that each phase's time counts for
    std::size_t batch = 1;
    scheduler_figures figures = {};
    std::uint64_t asked_at = now_ticks();  // before any figure was read
  };

  /// Called when the loop starts to take batches.
  void begin(const subject& of);
  /// Called when there are no more, until the next epoch.
  void end(const subject& of);
  /// The loop asks for a batch. Returns the time, in ticks.
  std::uint64_t begin_wait() noexcept {
    end_step();
    const std::uint64_t now = now_ticks();
    // No iteration includes the loop's time since the last epoch, or the time to drop batches for this one.
    if (std::exchange(first_, false)) begun_ = came_ = now;
    return now;
  }
  /// The loop got a batch, after waiting for it since `begun_at`.
  void waited(std::uint64_t begun_at) noexcept {
    const std::uint64_t now = now_ticks();
    waited_ = now - begun_at;
    in_step_ = true;
    if (trace_) trace_->iteration(came_, begun_at, now);
    came_ = now;
    if (now >= next_probe_) begin_probe();
  }
  /// The waiting loop has run samples since `begun_at`.
  void helped(std::uint64_t begun_at) noexcept { counted_.totals.helped_ticks += now_ticks() - begun_at; }
  void took_batch() noexcept { ++taken_; }
  /// Whether look() is wanted for the batch that the loop just got.
  bool looks() const noexcept { return timeline_.wants_depths(came_) || (trace_ && trace_->follows_batch()); }
  /// Records the batch and the work in flight, for the timeline and the trace.
  void look(const queue_depths& depths, traced_batch batch) noexcept;
  /// \throws wick::error when the file can't be written; then there is no trace, and the last one has ended
  void trace(const subject& of, const std::vector<std::string>& names, std::uint64_t positions,
             const std::string& path, const trace_options& options);
  void stop_trace() noexcept;
  void took(std::uint64_t samples) noexcept { samples_ += samples; }

  /// Reports everything since the last call; if that is too little for a verdict, also everything since the
  /// last report that had one. `names`: the stages'.
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
  /// Rows with the same name get numbers. Failures are known by name, so the first of these rows has them
  /// all.
  static std::vector<std::string> row_names(const std::vector<std::string>& names);
  /// An iteration is a wait and the step after it. The rest of a step after a report counts for the next
  /// report.
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
  std::string trace_note_;  // of the last trace that ended
  report_timeline timeline_;
  std::uint64_t depths_every_ = 0;        // ticks
  std::uint64_t begun_ = 0, waited_ = 0;  // of the current iteration
  std::uint64_t came_ = 0;                // when the last batch came, plus the time spent in look() for it
  bool first_ = true;                     // of an epoch
  bool in_step_ = false;
  std::uint64_t taken_ = 0, samples_ = 0;

  // The processor time of some of the steps.
  bool probes_ = false;
  std::uint64_t next_probe_ = 0, probed_at_ = 0, probe_cost_ = 0;
  thread_usage at_step_;
  std::uint64_t delay_at_step_ = 0;
  ::pthread_t step_thread_{};

  tick_scale scale_;
  bool taking_ = false;
  thread_totals since_;  // when taking began, or at the last report
  period counted_;       // since the last report
  period unjudged_;      // since the last report with a verdict, without the part in counted_
};

}  // namespace wick::detail
