/// \file
/// What a loader's report is made of: what the loop took, how long it waited, and the clocks of the stages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <wick/flow/detail/books.hpp>
#include <wick/flow/detail/error_account.hpp>
#include <wick/flow/ledger.hpp>
#include <wick/observe/clock.hpp>
#include <wick/observe/phases.hpp>
#include <wick/observe/report.hpp>
#include <wick/observe/stall_meter.hpp>
#include <wick/run/cpus.hpp>

namespace wick::detail {

/// Kept by the consumer.
class report_book {
 public:
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
    report r;
    const double now = scale_.elapsed(), tick = scale_.seconds_per_tick();
    const std::vector<books::sum> totals = feed.path().clocks().totals();
    if (reported_.clocks.empty()) reported_.clocks.resize(totals.size());
    const std::vector<std::string> names = feed.path().stage_names();
    r.seconds = now - reported_.time;
    r.workers = feed.on().workers();
    r.cpus = available_cpus();
    r.batches = taken_ - reported_.taken;
    r.samples = samples_ - reported_.samples;
    r.failures = failures.total() - reported_.failures;
    r.outcomes = outcomes_since(reported_.outcomes, failures.counts());
    r.helped = static_cast<double>(std::exchange(helped_ticks_, 0)) * tick;
    r.wait_mean = stalls_.mean();
    r.wait_median = stalls_.median();
    r.iterations = stalls_.count();
    const auto row = [&](std::size_t i, std::string name) {
      const auto& t = totals[i];
      const auto& b = reported_.clocks[i];
      stage_report s;
      s.name = std::move(name);
      s.count = t.count - b.count;
      const double timed = static_cast<double>(t.timed - b.timed);
      if (timed > 0) {
        s.busy =
            static_cast<double>(t.timed_ticks - b.timed_ticks) * tick * static_cast<double>(s.count) / timed;
      }
      const auto waited = static_cast<std::int64_t>(t.waited - b.waited);
      if (waited > 0) s.blocked = static_cast<double>(waited) * tick;
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
    reported_ = {totals, now, taken_, samples_, failures.total(), failures.counts()};
    stalls_.reset();
    return r;
  }

 private:
  stall_meter stalls_;
  std::uint64_t last_taken_ = 0;
  std::uint64_t helped_ticks_ = 0;  // since the last report
  std::uint64_t taken_ = 0, samples_ = 0;
  tick_scale scale_;
  struct snapshot {
    std::vector<books::sum> clocks;
    double time = 0;
    std::uint64_t taken = 0, samples = 0, failures = 0;
    std::vector<error_count> outcomes;
  } reported_;
};

}  // namespace wick::detail
