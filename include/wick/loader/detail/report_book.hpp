/// \file
/// What a loader's report is made of: what the loop took, how long it waited, and the clocks of the stages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <wick/failure/detail/error_account.hpp>
#include <wick/failure/ledger.hpp>
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

/// Kept by the consumer. Threads' clocks are read when an epoch is begun, at its end, and for a report.
class report_book {
 public:
  /// Batches are taken from now on.
  template <class Feed>
  void begin(Feed& feed) {
    end(feed);
    taking_ = true;
    since_ = usage_of(feed);
    if (last_taken_ != 0)
      last_taken_ = now_ticks();  // what the loop did since the epoch before is none of its waiting
  }
  /// There are no more, until the next epoch.
  template <class Feed>
  void end(Feed& feed) {
    if (!std::exchange(taking_, false)) return;
    used_.add(usage_of(feed), since_);
  }
  /// A batch came, for which the loop has waited since then.
  void waited(std::uint64_t begun_at) noexcept {
    const std::uint64_t now = now_ticks();
    if (last_taken_ != 0) stalls_.iteration(now - begun_at, now - last_taken_);
    last_taken_ = now;
  }
  /// Since then the loop, while it waited, ran samples.
  void helped(std::uint64_t begun_at) noexcept { helped_ticks_ += now_ticks() - begun_at; }
  void took_batch() noexcept { ++taken_; }
  void took(std::uint64_t samples) noexcept { samples_ += samples; }

  /// All since it was called last. `trouble` is a note more, unless it is empty.
  template <class Feed>
  report close(Feed& feed, const ledger& failures, std::string trouble) {
    const usage now = usage_of(feed);
    if (taking_) used_.add(now, since_);
    since_ = now;
    report r;
    const double tick = scale_.seconds_per_tick();
    const stage_clocks& clocks = feed.path().clocks();
    const std::vector<stage_clocks::sum> totals = clocks.totals();
    if (reported_.clocks.empty()) reported_.clocks.resize(totals.size());
    const std::vector<std::string> names = feed.path().stage_names();
    r.seconds = now.time - reported_.time;
    r.taking = used_.time;
    r.workers = feed.on().workers();
    r.io_threads = feed.on().io().threads();
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
    const auto rows = [&](std::size_t i) { return since_reported(totals[i], reported_.clocks[i]); };
    double samples = 0, batches = 0;
    for (std::size_t i = 0; i < totals.size(); ++i)
      (clocks.of_samples(i) ? samples : batches) += rows(i).busy;
    // What is inferred of the stages is made to fit what is known of the runs.
    const std::uint64_t run_ticks = clocks.run_ticks();
    const double runs = static_cast<double>(run_ticks - reported_.run_ticks);
    const double fit = clocks.clocks_always_read() || samples <= 0 ? 1 : runs / samples;
    // Clocks are read while workers go on: a run may end in between that began before the last report.
    const double limit = r.seconds * static_cast<double>(r.workers) + r.helped;
    const double busy = (samples * fit + batches) * tick;
    const double bound = busy > limit && busy > 0 ? limit / busy : 1;
    const auto row = [&](std::size_t i, std::string name) {
      const clocked c = rows(i);
      stage_report s;
      s.name = std::move(name);
      s.count = c.count;
      s.busy = c.busy * (clocks.of_samples(i) ? fit : 1) * bound * tick;
      s.blocked = c.blocked * tick;
      return s;
    };
    r.stages.push_back(row(Feed::order_row, "order"));
    for (std::size_t i = 0; i < names.size(); ++i) {
      stage_report s = row(i, names[i]);
      if (i == Feed::batching) {
        for (std::size_t p = 0; p < phase_count; ++p) {
          stage_report inside = row(Feed::phase_row + p, s.name + ": " + std::string(phase_names[p]));
          if (inside.busy > 0) r.stages.push_back(std::move(inside));
        }
      }
      if (s.count != 0) r.stages.push_back(std::move(s));
    }
    r.notes = feed.path().notes();
    if (!trouble.empty()) r.notes.push_back(std::move(trouble));
    reported_ = {totals, run_ticks, now.time, taken_, samples_, failures.total(), failures.counts()};
    stalls_.reset();
    used_ = {};
    return r;
  }

 private:
  /// All in seconds but the last two, which are ticks of the workers.
  struct usage {
    double time = 0, program = 0, workers = 0, io = 0, io_calls = 0;
    std::uint64_t own = 0, others = 0;

    void add(const usage& until, const usage& since) noexcept;
  };
  template <class Feed>
  usage usage_of(Feed& feed) const {
    executor& on = feed.on();
    const io_pool::usage io = on.io().used();
    const stage_clocks& clocks = feed.path().clocks();
    return {scale_.elapsed(),
            process_seconds(),
            on.worker_seconds(),
            io.processor,
            io.calls,
            clocks.ticks().workers,
            on.tenants().ticks_of_others(&clocks)};
  }

  struct clocked {
    std::uint64_t count = 0;
    double busy = 0, blocked = 0;  // ticks
  };
  static clocked since_reported(const stage_clocks::sum& now, const stage_clocks::sum& before) noexcept;

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
