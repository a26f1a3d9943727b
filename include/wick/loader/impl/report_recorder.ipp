// Implements loader/detail/report_recorder.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <memory>

#include <wick/async/detail/io_pool.hpp>
#include <wick/base/detail/cpus.hpp>
#include <wick/failures/detail/error_account.hpp>
#include <wick/loader/detail/report_recorder.hpp>
#include <wick/profile/detail/advice.hpp>

namespace wick::inline v0_1::detail {

thread_totals report_recorder::usage_of(const subject& of) const {
  const io_pool::usage io = of.on.io().used();
  thread_totals out;
  out.first = of.asked_at;
  out.program = process_seconds();
  out.worker_seconds = of.on.worker_seconds();
  for (const double s : out.worker_seconds) out.workers += s;
  out.io = io.processor;
  out.io_calls = io.calls;
  out.own = of.clocks.ticks().workers;
  out.others = of.on.tenants().ticks_of_others(&of.clocks);
  for (std::size_t i = 0; i < of.on.workers(); ++i) out.worker_ticks.push_back(of.clocks.ticks_of(i));
  out.worker_seconds.resize(of.on.workers());
  out.idle_samples = of.figures.idle.samples;
  out.idle_order = of.figures.idle.order;
  out.idle_loop = of.figures.idle.loop;
  out.last = now_ticks();
  return out;
}

void report_recorder::begin(const subject& of) {
  end(of);
  since_ = usage_of(of);
  taking_ = true;
  first_ = true;
  // Reading depths takes less than a microsecond.
  const double tick = scale_.seconds_per_tick();
  depths_every_ = tick > 0 ? static_cast<std::uint64_t>(2e-3 / tick) : 0;
}

void report_recorder::end(const subject& of) {
  end_step();
  if (!taking_) return;
  counted_.totals.used.add(usage_of(of).since(since_));
  taking_ = false;
}

void report_recorder::begin_probe() noexcept {
  const std::uint64_t begun = now_ticks();
  at_step_ = usage_of_this_thread();
  delay_at_step_ = delay_of_this_thread();
  step_thread_ = ::pthread_self();
  probed_at_ = now_ticks();
  probe_cost_ = probed_at_ - begun;
  probes_ = true;
}

void report_recorder::end_probe() noexcept {
  probes_ = false;
  const std::uint64_t now = now_ticks();
  const thread_usage usage = usage_of_this_thread();
  // A step that ended on another thread doesn't count.
  if (usage.nanoseconds != 0 && ::pthread_equal(step_thread_, ::pthread_self()) != 0) {
    counted_.totals.step_ticks += now - probed_at_;
    counted_.totals.step_nanoseconds += usage.nanoseconds - at_step_.nanoseconds;
    counted_.totals.step_delay += delay_of_this_thread() - delay_at_step_;
  }
  next_probe_ = now + 2000 * probe_cost_;  // a tenth of a percent
}

report report_recorder::close(const subject& of, const std::vector<std::string>& names,
                              const failure_log& failures) {
  end_step();
  const thread_totals used = usage_of(of);
  if (taking_) counted_.totals.used.add(used.since(since_));
  since_ = used;
  const snapshot now{of.clocks.totals(), used.first, taken_, samples_, failures.total(), failures.counts()};
  report_totals totals = totals_of(of);
  add_slowest(of, totals);
  const auto since = [&](const period& p) {
    add_counts(p, now, used.last, totals);
    return make_report(totals, p.totals, row_names(names));
  };
  report r = since(counted_);
  r.timeline = timeline_.take(counted_.begin.first, totals.tick);
  if (trace_) trace_note_ = trace_->note();
  if (!trace_note_.empty()) r.notes.push_back(std::exchange(trace_note_, {}));
  unjudged_.totals.add(counted_.totals);
  if (r.iterations < enough_for_verdict && unjudged_.totals.stalls.count() >= enough_for_verdict)
    r.since_verdict = std::make_shared<const report>(since(unjudged_));
  if (r.iterations >= enough_for_verdict || r.since_verdict) unjudged_ = {now, {}};
  counted_ = {now, {}};
  return r;
}

std::vector<std::string> report_recorder::row_names(const std::vector<std::string>& names) {
  std::vector<std::string> out = names;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto before = std::count(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]);
    if (before != 0) out[i] += ' ' + std::to_string(before + 1);
  }
  return out;
}

/// The totals that hold for any period ending now.
report_totals report_recorder::totals_of(const subject& of) const {
  report_totals out;
  out.tick = scale_.seconds_per_tick();
  out.clocks_always_read = of.clocks.clocks_always_read();
  out.batching = of.batching;
  out.order_row = of.order_row;
  out.phase_row = of.phase_row;
  out.phase_stages = of.phase_stages;
  out.workers = of.on.workers();
  out.io_threads = of.on.io().threads();
  out.requests = of.on.reads_at_a_time() - out.io_threads;
  out.cpus = available_cpus();
  out.chooses_io_threads = of.on.io().chooses_threads();
  out.memory_limit = of.budget.limit();
  out.memory_used = of.budget.used();
  out.memory_peak = of.budget.peak();
  out.batch = of.batch;
  out.prefetch = of.figures.prefetch;
  out.in_flight = of.figures.in_flight;
  out.at_a_time = of.figures.at_a_time;
  out.loop_helps = of.figures.loop_helps;
  out.chooses_in_flight = of.figures.chooses_in_flight;
  return out;
}

/// The slowest sample of each row since the last report.
void report_recorder::add_slowest(const subject& of, report_totals& to) {
  const auto key = [&](std::uint64_t index) -> std::string {
    try {
      return of.names.key(of.names.source, index);
    } catch (...) {  // the source has fewer samples by now
      return {};
    }
  };
  to.rows.resize(of.clocks.rows() + 1);
  for (std::size_t i = 0; i < of.clocks.rows(); ++i) {
    row_totals& row = to.rows[i];
    row.of_samples = of.clocks.of_samples(i);
    if (!row.of_samples) continue;
    row.slow = of.clocks.take_slowest(i);
    if (row.slow.ticks != 0) row.slowest_key = key(row.slow.index);
    if (row.slow.nanoseconds != 0) row.costliest_key = key(row.slow.costliest_index);
  }
}

void report_recorder::add_counts(const period& p, const snapshot& now, std::uint64_t last,
                                 report_totals& to) {
  to.ticks = last - p.begin.first;
  to.batches = now.taken - p.begin.taken;
  to.samples = now.samples - p.begin.samples;
  to.failures = now.failures - p.begin.failures;
  to.outcomes = outcomes_since(p.begin.outcomes, now.outcomes);
  for (std::size_t i = 0; i < now.clocks.size(); ++i)
    to.rows[i].sum = p.begin.clocks.empty() ? now.clocks[i] : now.clocks[i].since(p.begin.clocks[i]);
}

}  // namespace wick::detail
