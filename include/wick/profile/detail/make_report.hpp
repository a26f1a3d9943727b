// Makes a report from the counts at two moments. It reads no clock and knows no loader.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <wick/pipeline/detail/phases.hpp>
#include <wick/profile/detail/stage_clocks.hpp>
#include <wick/profile/detail/stall_meter.hpp>
#include <wick/profile/report.hpp>

namespace wick::inline v0_1::detail {

/// The threads' usage, in seconds and then in ticks. `first` is a time before the first figure was read,
/// `last` one after the last. A period reaches from the earlier `first` to the later `last`, so usage never
/// exceeds it.
struct thread_totals {
  double program = 0, workers = 0, io = 0, io_calls = 0;
  std::uint64_t first = 0, last = 0, time = 0;
  std::uint64_t own = 0, others = 0, idle_samples = 0, idle_order = 0, idle_loop = 0;
  std::vector<double> worker_seconds;
  std::vector<std::uint64_t> worker_ticks;

  /// The change since `before`, and the time between.
  thread_totals since(const thread_totals& before) const;
  void add(const thread_totals& other);
};

/// Counted while a training loop takes batches.
struct loop_totals {
  stall_meter stalls;
  thread_totals used;
  std::uint64_t helped_ticks = 0;
  std::uint64_t step_ticks = 0, step_nanoseconds = 0, step_delay = 0;  // of probed steps

  void add(const loop_totals& next);
};

/// A row of clocks: a stage, the order, or a phase inside the slot.
struct row_totals {
  stage_clocks::sum sum;
  bool of_samples = true;
  stage_clocks::slow_sample slow = {};
  std::string slowest_key = {}, costliest_key = {};
};

struct report_totals {
  double tick = 0;          ///< seconds that a tick takes
  std::uint64_t ticks = 0;  ///< since the previous report
  std::uint64_t batches = 0, samples = 0, failures = 0;
  std::vector<report::outcome> outcomes;

  std::vector<row_totals> rows;  ///< the last is that of whole runs
  bool clocks_always_read = false;
  std::size_t batching = 0, order_row = 0, phase_row = 0;
  std::array<std::size_t, phase_count> phase_stages = {};  ///< the stage that each phase's time belongs to

  std::size_t workers = 0, io_threads = 0, requests = 0, cpus = 0;
  bool chooses_io_threads = false;
  std::size_t memory_limit = 0, memory_used = 0, memory_peak = 0;
  std::size_t batch = 1;        ///< samples per batch, if none was delivered
  std::size_t prefetch = 1;     ///< batches ahead
  std::uint64_t in_flight = 0;  ///< at most; 0: as many as workers
  std::uint64_t at_a_time = 1;  ///< samples that a worker claims at once
  bool loop_helps = false, chooses_in_flight = true;
};

/// `names`: of the stages, by row.
report make_report(const report_totals& of, const loop_totals& loop, const std::vector<std::string>& names);

}  // namespace wick::detail
