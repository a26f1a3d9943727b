/// \file
/// The bodies of what loader/detail/report_book.hpp declares. Included in exactly one file of a program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <wick/failure/detail/error_account.hpp>
#include <wick/failure/ledger.hpp>
#include <wick/loader/detail/report_book.hpp>
#include <wick/observe/clock.hpp>
#include <wick/observe/detail/stage_clocks.hpp>
#include <wick/observe/phases.hpp>
#include <wick/observe/report.hpp>
#include <wick/observe/stall_meter.hpp>
#include <wick/run/executor.hpp>
#include <wick/run/io_pool.hpp>
#include <wick/system/cpus.hpp>
#include <wick/system/detail/processor_time.hpp>

namespace wick::detail {

void report_book::usage::add(const usage& until, const usage& since) noexcept {
  time += until.time - since.time;
  program += until.program - since.program;
  workers += until.workers - since.workers;
  io += until.io - since.io;
  io_calls += until.io_calls - since.io_calls;
  own += until.own - since.own;
  others += until.others - since.others;
}

report_book::usage report_book::usage_of(const subject& of) const {
  const io_pool::usage io = of.on.io().used();
  return {scale_.elapsed(),
          process_seconds(),
          of.on.worker_seconds(),
          io.processor,
          io.calls,
          of.clocks.ticks().workers,
          of.on.tenants().ticks_of_others(&of.clocks)};
}

void report_book::begin(const subject& of) {
  end(of);
  taking_ = true;
  since_ = usage_of(of);
  if (last_taken_ != 0)
    last_taken_ = now_ticks();  // what the loop did since the epoch before is none of its waiting
}

void report_book::end(const subject& of) {
  if (!std::exchange(taking_, false)) return;
  used_.add(usage_of(of), since_);
}

/// What the clocks of a stage say of the time between two looks, in ticks.
struct clocked {
  clocked(const stage_clocks::sum& now, const stage_clocks::sum& before) noexcept
      : count(now.count - before.count) {
    const double timed = static_cast<double>(now.timed - before.timed);
    if (timed > 0) {
      busy = static_cast<double>(now.timed_ticks - before.timed_ticks) * static_cast<double>(count) / timed;
    }
    const auto waited = static_cast<std::int64_t>(now.waited - before.waited);
    if (waited > 0) blocked = static_cast<double>(waited);
  }
  std::uint64_t count;
  double busy = 0, blocked = 0;
};

report report_book::close(const subject& of, const std::vector<std::string>& names, const ledger& failures) {
  const usage now = usage_of(of);
  if (taking_) used_.add(now, since_);
  since_ = now;
  report r;
  const double tick = scale_.seconds_per_tick();
  const std::vector<stage_clocks::sum> totals = of.clocks.totals();
  if (reported_.clocks.empty()) reported_.clocks.resize(totals.size());
  r.seconds = now.time - reported_.time;
  r.taking = used_.time;
  r.workers = of.on.workers();
  r.io_threads = of.on.io().threads();
  r.cpus = available_cpus();
  r.batches = taken_ - reported_.taken;
  r.samples = samples_ - reported_.samples;
  r.worked = static_cast<double>(used_.own) * tick;
  r.others = static_cast<double>(used_.others) * tick;
  r.helped = static_cast<double>(std::exchange(helped_ticks_, 0)) * tick;
  r.io_calls = used_.io_calls;
  r.worker_processor = used_.workers;
  r.io_processor = used_.io;
  r.processor = used_.program;
  r.failures = failures.total() - reported_.failures;
  r.outcomes = outcomes_since(reported_.outcomes, failures.counts());
  r.wait_mean = stalls_.mean();
  r.wait_median = stalls_.median();
  r.iterations = stalls_.count();
  const auto clocked_in = [&](std::size_t row) { return clocked(totals[row], reported_.clocks[row]); };
  double samples = 0, batches = 0;
  for (std::size_t i = 0; i < totals.size(); ++i) {
    (of.clocks.of_samples(i) ? samples : batches) += clocked_in(i).busy;
  }
  // What is inferred of the stages is made to fit what is known of the runs.
  const std::uint64_t run_ticks = of.clocks.run_ticks();
  const double runs = static_cast<double>(run_ticks - reported_.run_ticks);
  const double fit = of.clocks.clocks_always_read() || samples <= 0 ? 1 : runs / samples;
  // Clocks are read while workers go on: a run may end in between that began before the last report.
  const double limit = r.seconds * static_cast<double>(r.workers) + r.helped;
  const double busy = (samples * fit + batches) * tick;
  const double bound = busy > limit && busy > 0 ? limit / busy : 1;
  const auto stage = [&](std::size_t row, std::string name) {
    const clocked c = clocked_in(row);
    stage_report s;
    s.name = std::move(name);
    s.count = c.count;
    s.busy = c.busy * (of.clocks.of_samples(row) ? fit : 1) * bound * tick;
    s.blocked = c.blocked * tick;
    return s;
  };
  r.stages.push_back(stage(of.order_row, "order"));
  for (std::size_t i = 0; i < names.size(); ++i) {
    stage_report s = stage(i, names[i]);
    if (i == of.batching) {
      for (std::size_t p = 0; p < phase_count; ++p) {
        stage_report inside = stage(of.phase_row + p, s.name + ": " + std::string(phase_names[p]));
        if (inside.busy > 0) r.stages.push_back(std::move(inside));
      }
    }
    if (s.count != 0) r.stages.push_back(std::move(s));
  }
  reported_ = {totals, run_ticks, now.time, taken_, samples_, failures.total(), failures.counts()};
  stalls_.reset();
  used_ = {};
  return r;
}

}  // namespace wick::detail
