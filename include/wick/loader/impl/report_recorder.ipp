/// \file
/// The bodies of what loader/detail/report_recorder.hpp declares. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include <wick/async/detail/io_pool.hpp>
#include <wick/base/detail/cpus.hpp>
#include <wick/failures/detail/error_account.hpp>
#include <wick/loader/detail/report_recorder.hpp>
#include <wick/profile/detail/advice.hpp>

namespace wick::inline v0_1::detail {

void report_recorder::usage::add(const usage& until, const usage& since) {
  // What may throw comes first, so that nothing is counted by half.
  worker_seconds.resize(until.worker_seconds.size());
  worker_ticks.resize(until.worker_ticks.size());
  time += until.last - since.first;
  program += until.program - since.program;
  workers += until.workers - since.workers;
  io += until.io - since.io;
  io_calls += until.io_calls - since.io_calls;
  own += until.own - since.own;
  others += until.others - since.others;
  idle_samples += until.idle_samples - since.idle_samples;
  idle_order += until.idle_order - since.idle_order;
  idle_loop += until.idle_loop - since.idle_loop;
  for (std::size_t i = 0; i < worker_seconds.size(); ++i)
    worker_seconds[i] += until.worker_seconds[i] - since.worker_seconds[i];
  for (std::size_t i = 0; i < worker_ticks.size(); ++i)
    worker_ticks[i] += until.worker_ticks[i] - since.worker_ticks[i];
}

void report_recorder::usage::add(const usage& other) {
  worker_seconds.resize(other.worker_seconds.size());
  worker_ticks.resize(other.worker_ticks.size());
  time += other.time;
  program += other.program;
  workers += other.workers;
  io += other.io;
  io_calls += other.io_calls;
  own += other.own;
  others += other.others;
  idle_samples += other.idle_samples;
  idle_order += other.idle_order;
  idle_loop += other.idle_loop;
  for (std::size_t i = 0; i < worker_seconds.size(); ++i) worker_seconds[i] += other.worker_seconds[i];
  for (std::size_t i = 0; i < worker_ticks.size(); ++i) worker_ticks[i] += other.worker_ticks[i];
}

void report_recorder::period::add(const period& next) {
  if (!next.used.worker_ticks.empty()) used.add(next.used);  // else no epoch was under way
  stalls.add(next.stalls);
  helped_ticks += next.helped_ticks;
  step_ticks += next.step_ticks;
  step_nanoseconds += next.step_nanoseconds;
  step_delay += next.step_delay;
}

void report_recorder::period::restart(const snapshot& at) {
  begin = at;
  stalls.reset();
  used = {};
  helped_ticks = step_ticks = step_nanoseconds = step_delay = 0;
}

report_recorder::usage report_recorder::usage_of(const subject& of) const {
  const io_pool::usage io = of.on.io().used();
  usage out;
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
  counted_.used.add(usage_of(of), since_);
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
  // One that the loop has ended on another thread says nothing.
  if (usage.nanoseconds != 0 && ::pthread_equal(step_thread_, ::pthread_self()) != 0) {
    counted_.step_ticks += now - probed_at_;
    counted_.step_nanoseconds += usage.nanoseconds - at_step_.nanoseconds;
    counted_.step_delay += delay_of_this_thread() - delay_at_step_;
  }
  next_probe_ = now + 2000 * probe_cost_;  // a tenth of a percent
}

namespace {
double seconds_of(std::uint64_t nanoseconds) noexcept { return 1e-9 * static_cast<double>(nanoseconds); }
}  // namespace

/// What the clocks of a stage say of the time between two looks, in ticks.
struct clocked {
  explicit clocked(const stage_clocks::sum& s) noexcept : count(s.count) {
    if (s.timed > 0)
      busy = static_cast<double>(s.timed_ticks) * static_cast<double>(s.count) / static_cast<double>(s.timed);
    // A worker that is kept between a sample's handing over and its own reading of the clock takes that from
    // the sample's wait, which another worker may have ended by then. What is waited for was noted apart.
    const auto noted = std::accumulate(s.waits.begin() + 1, s.waits.end(), std::uint64_t{0});
    blocked =
        static_cast<double>(std::max(static_cast<std::int64_t>(s.waited), static_cast<std::int64_t>(noted)));
  }
  std::uint64_t count;
  double busy = 0, blocked = 0;
};

/// Of work: how much of it had a processor, and how much gave it up, as shares of it.
struct probed_share {
  double processor = 1, held = 0;
  bool known = false;

  probed_share() = default;
  /// Those that took long were probed each; of the others those that were stand for all.
  probed_share(const stage_clocks::sum& s, double tick) noexcept {
    const double all = static_cast<double>(s.timed_ticks) * tick;
    if (all <= 0 || s.probed.count + s.long_ones.count == 0) return;
    const auto held_in = [&](const probes& p) {
      return std::max(0.0, static_cast<double>(p.blocked_ticks) * tick - seconds_of(p.blocked_nanoseconds));
    };
    const auto others = static_cast<double>(s.timed - std::min(s.timed, s.long_ones.count));
    const double weight = s.probed.count == 0 ? 0 : others / static_cast<double>(s.probed.count);
    known = s.probed.count != 0 || others < 0.1 * static_cast<double>(s.timed);
    processor = std::clamp(
        (seconds_of(s.long_ones.nanoseconds) + weight * seconds_of(s.probed.nanoseconds)) / all, 0.0, 1.0);
    held = std::clamp((held_in(s.long_ones) + weight * held_in(s.probed)) / all, 0.0, 1 - processor);
  }
};

report report_recorder::close(const subject& of, const std::vector<std::string>& names,
                              const failure_log& failures) {
  end_step();
  const usage used = usage_of(of);
  if (taking_) counted_.used.add(used, since_);
  since_ = used;
  snapshot now{of.clocks.totals(), used.first, taken_, samples_, failures.total(), failures.counts()};
  report r = report_of(counted_, now, used.last, of, names);
  const double tick = scale_.seconds_per_tick();
  r.timeline = timeline_.take(counted_.begin.first, tick);
  if (trace_) trace_note_ = trace_->note();
  if (!trace_note_.empty()) r.notes.push_back(std::exchange(trace_note_, {}));
  unjudged_.add(counted_);
  if (r.iterations < enough_for_verdict && unjudged_.stalls.count() >= enough_for_verdict) {
    report all = report_of(unjudged_, now, used.last, of, names);
    for (report::stage& s : all.stages) {
      for (const report::stage& last : r.stages) {
        if (last.name != s.name) continue;
        s.slowest = last.slowest, s.slowest_key = last.slowest_key;
        s.costliest = last.costliest, s.costliest_key = last.costliest_key;
      }
    }
    r.since_verdict = std::make_shared<const report>(std::move(all));
  }
  if (r.iterations >= enough_for_verdict || r.since_verdict) unjudged_.restart(now);
  counted_.restart(now);
  return r;
}

report report_recorder::report_of(const period& counted, const snapshot& now, std::uint64_t last,
                                  const subject& of, const std::vector<std::string>& names) {
  report r;
  const double tick = scale_.seconds_per_tick();
  std::vector<stage_clocks::sum> since;
  since.reserve(now.clocks.size());
  for (std::size_t i = 0; i < now.clocks.size(); ++i)
    since.push_back(counted.begin.clocks.empty() ? now.clocks[i]
                                                 : now.clocks[i].since(counted.begin.clocks[i]));
  const auto in_seconds = [&](std::uint64_t ticks) { return static_cast<double>(ticks) * tick; };
  r.seconds = in_seconds(last - counted.begin.first);
  r.taking = in_seconds(counted.used.time);
  r.workers = of.on.workers();
  r.io_threads = of.on.io().threads();
  r.requests = of.on.reads_at_a_time() - r.io_threads;
  r.cpus = available_cpus();
  r.batches = now.taken - counted.begin.taken;
  r.samples = now.samples - counted.begin.samples;
  r.worked = in_seconds(counted.used.own);
  r.others = in_seconds(counted.used.others);
  r.helped = in_seconds(counted.helped_ticks);
  r.io_calls = counted.used.io_calls;
  r.worker_processor = counted.used.workers;
  r.io_processor = counted.used.io;
  r.processor = counted.used.program;
  r.idle = {in_seconds(counted.used.idle_samples), in_seconds(counted.used.idle_order),
            in_seconds(counted.used.idle_loop)};
  r.failures = now.failures - counted.begin.failures;
  r.outcomes = outcomes_since(counted.begin.outcomes, now.outcomes);
  r.wait_mean = counted.stalls.mean();
  r.wait_median = counted.stalls.median();
  r.iterations = counted.stalls.count();
  const auto timing = [&](const durations& d, double sum) {
    return report::timing{r.iterations == 0 ? 0 : sum * tick / static_cast<double>(r.iterations),
                          d.quantile(0.5) * tick, d.quantile(0.99) * tick};
  };
  const auto waited = static_cast<double>(counted.stalls.waited_ticks()),
             all = static_cast<double>(counted.stalls.total_ticks());
  r.waiting = timing(counted.stalls.waits(), waited);
  r.iteration = timing(counted.stalls.iterations(), all);
  r.step = timing(counted.stalls.steps(), all - waited);
  if (counted.step_ticks != 0)
    r.step_delay =
        std::min(1.0, seconds_of(counted.step_delay) / (static_cast<double>(counted.step_ticks) * tick));
  r.memory_limit = of.budget.limit();
  r.memory_used = of.budget.used();
  r.memory_peak = of.budget.peak();
  for (std::size_t i = 0; i < counted.used.worker_ticks.size(); ++i)
    r.each_worker.push_back({in_seconds(counted.used.worker_ticks[i]), counted.used.worker_seconds[i]});

  const std::size_t rows = since.size() - 1;  // the last is that of the runs
  double samples = 0, batches = 0;
  for (std::size_t i = 0; i < rows; ++i)
    (of.clocks.of_samples(i) ? samples : batches) += clocked(since[i]).busy;
  // What is inferred of the stages is made to fit what is known of the runs.
  const double runs = static_cast<double>(since[rows].timed_ticks);
  const double fit = of.clocks.clocks_always_read() || samples <= 0 ? 1 : runs / samples;
  // Clocks are read while workers run: a run may end in between that began before the last report.
  const double limit = r.seconds * static_cast<double>(r.workers) + r.helped;
  const double busy = (samples * fit + batches) * tick;
  const double bound = busy > limit && busy > 0 ? limit / busy : 1;
  // Of short samples there is but one ratio for all stages, that of whole runs. There a probe is of a run,
  // and `timed` counts samples.
  stage_clocks::sum run = since[rows];
  run.timed = run.probed.count;
  run.timed_ticks = run.probed.ticks;
  const probed_share of_runs(run, tick), of_batch(since[std::min(of.batching, of.order_row)], tick);
  const auto key = [&](std::uint64_t index) -> std::string {
    try {
      return of.names.key(of.names.source, index);
    } catch (...) {  // the source has fewer samples by now
      return {};
    }
  };
  const auto stage = [&](std::size_t row, std::string name) {
    const stage_clocks::sum& s = since[row];
    const clocked c(s);
    report::stage out;
    out.name = std::move(name);
    out.count = c.count;
    out.busy = c.busy * (of.clocks.of_samples(row) ? fit : 1) * bound * tick;
    out.blocked = c.blocked * tick;
    probed_share p = row >= of.phase_row ? of_batch : probed_share(s, tick);
    if (!p.known && of.clocks.of_samples(row)) p = of_runs;
    out.processor = out.busy * p.processor;
    out.held = out.busy * p.held;
    out.bytes = s.bytes;
    out.median = s.times.quantile(0.5) * tick;
    out.p90 = s.times.quantile(0.9) * tick;
    out.p99 = s.times.quantile(0.99) * tick;
    if (of.clocks.of_samples(row)) {
      const stage_clocks::slow_sample slow = of.clocks.take_slowest(row);
      out.slowest = in_seconds(slow.ticks);
      if (slow.ticks != 0) out.slowest_key = key(slow.index);
      out.costliest = seconds_of(slow.nanoseconds);
      if (slow.nanoseconds != 0) out.costliest_key = key(slow.costliest_index);
    }
    const auto wait = [&](wait_for what) { return in_seconds(s.waits[static_cast<std::size_t>(what)]); };
    report::wait_times& w = out.waits;
    w.io_thread = wait(wait_for::io_thread);
    w.io_call = wait(wait_for::io_call) + wait(wait_for::server) + wait(wait_for::sample);
    w.memory = wait(wait_for::memory);
    w.lock = wait(wait_for::lock) + wait(wait_for::channel);
    w.time = wait(wait_for::time);
    w.worker = wait(wait_for::worker);
    w.other = std::max(0.0, out.blocked - w.io_thread - w.io_call - w.memory - w.lock - w.time - w.worker);
    for (const report::outcome& o : r.outcomes) {
      if (o.stage == out.name && o.outcome != "good when tried again") out.failed += o.count;
    }
    return out;
  };
  std::vector<std::size_t> row_of;  // of each of r.stages
  const auto tell = [&](std::size_t row, std::string name) {
    report::stage s = stage(row, std::move(name));
    s.of_batches = !of.clocks.of_samples(row);
    if (s.count == 0 && row != of.order_row) return;
    double longest = s.busy;
    std::size_t longest_row = row;
    for (std::size_t p = 0; p < phase_count; ++p) {
      if (of.phase_stages[p] != row) continue;
      const report::stage part = stage(of.phase_row + p, {});
      s.busy += part.busy;
      s.processor += part.processor;
      s.held += part.held;
      s.deferred += part.busy;
      if (part.slowest > s.slowest) s.slowest = part.slowest, s.slowest_key = part.slowest_key;
      if (part.costliest > s.costliest) s.costliest = part.costliest, s.costliest_key = part.costliest_key;
      if (part.busy <= longest) continue;
      longest = part.busy;  // single samples are those of the longest part
      s.median = part.median, s.p90 = part.p90, s.p99 = part.p99;
      longest_row = of.phase_row + p;
    }
    row_of.push_back(longest_row);
    r.stages.push_back(std::move(s));
  };
  tell(of.order_row, "order");
  for (std::size_t i = 0; i < names.size(); ++i) tell(i, row_name(names, i));
  measure(counted, of, r, row_of, since, tick);
  return r;
}

/// Where no long sample was probed, only the sum of what threads took turns for on too few processors is
/// known: the longest are cut until the mean is as much less as there was of it.
void without_turns(std::vector<float>& multiples, const report::stage& of) {
  double lost = (1 - (of.processor + of.held) / of.busy) * static_cast<double>(multiples.size());
  if (multiples.empty() || !(lost >= 0.02 * static_cast<double>(multiples.size()))) return;
  std::size_t i = multiples.size();
  float level = multiples.back();
  while (i > 0) {
    const float next = i > 1 ? multiples[i - 2] : 0.0F;
    const double step = static_cast<double>(level - next) * static_cast<double>(multiples.size() - i + 1);
    if (step >= lost) {
      level -= static_cast<float>(lost / static_cast<double>(multiples.size() - i + 1));
      break;
    }
    lost -= step;
    level = next;
    --i;
  }
  double sum = 0;
  for (float& m : multiples) {
    m = std::min(m, level);
    sum += static_cast<double>(m);
  }
  if (sum <= 0) return multiples.clear();
  for (float& m : multiples)
    m = static_cast<float>(static_cast<double>(m) * static_cast<double>(multiples.size()) / sum);
}

void report_recorder::measure(const period& counted, const subject& of, report& r,
                              const std::vector<std::size_t>& row_of,
                              const std::vector<stage_clocks::sum>& since, double tick) {
  constexpr std::size_t steps = 1000;
  measured_load& load = r.load;
  load_model& m = load.model;
  m.workers = r.workers;
  m.io_threads = r.io_threads + r.requests;
  m.processors = r.cpus;
  m.in_flight = of.figures.in_flight;
  m.prefetch = of.figures.prefetch;
  // A rank has a share of a batch, and pack() rows of it: the delivered samples count.
  m.batch = r.batches == 0
                ? of.batch
                : std::max<std::size_t>(1, static_cast<std::size_t>((r.samples + r.batches / 2) / r.batches));
  m.memory = static_cast<double>(r.memory_limit);
  m.loop_helps = of.figures.loop_helps && r.helped > 0;
  m.at_a_time = of.figures.at_a_time;
  load.chooses_in_flight = of.figures.chooses_in_flight;
  load.chooses_io_threads = of.on.io().chooses_threads();
  if (r.samples == 0 || r.taking <= 0) return;
  load.samples_per_second = r.samples_per_second();
  const double made = static_cast<double>(std::max<std::uint64_t>(since[of.order_row].count, 1));
  const double io_share = r.io_calls > 0 ? std::clamp(r.io_processor / r.io_calls, 0.0, 1.0) : 0;
  double errors = 0, all = 0;
  const auto add = [&](const report::stage& s, std::size_t row) {
    load_model::stage out;
    out.work = s.processor / made;
    out.held = s.held / made;
    out.io = s.waits.io_call / made;
    out.io_work = out.io * io_share;
    out.wait = (s.waits.time + s.waits.other) / made;
    out.lock = s.waits.lock / made;
    out.bytes = static_cast<double>(s.bytes) / made;
    out.times.multiples = since[row].times.with(since[row].turns).multiples(steps);
    if (since[row].turns.none() && s.blocked <= 0) without_turns(out.times.multiples, s);
    out.sizes.multiples = since[row].sizes.multiples(steps);
    const auto n = static_cast<double>(since[row].times.count());
    double variance = 0;
    for (const float x : out.times.multiples)
      variance += (static_cast<double>(x) - 1) * (static_cast<double>(x) - 1);
    const double mean = out.work + out.held + out.io + out.wait;
    if (n > 0 && !out.times.constant()) errors += mean * mean * variance / (steps * n);
    all += mean;
    m.stages.push_back(std::move(out));
    load.names.push_back(s.name);
  };
  double longest = 0;
  for (std::size_t i = 0; i < r.stages.size(); ++i) {
    const report::stage& s = r.stages[i];
    if (!s.of_batches) {
      add(s, row_of[i]);
      continue;
    }
    m.batch_work += s.processor / static_cast<double>(std::max<std::uint64_t>(r.batches, 1));
    m.batch_held += s.held / static_cast<double>(std::max<std::uint64_t>(r.batches, 1));
    if (s.busy > longest) longest = s.busy, load.batch_stage = s.name;
  }
  load.error = all > 0 ? std::sqrt(errors) / all : 0;
  const double share = counted.step_ticks > 0
                           ? std::clamp(seconds_of(counted.step_nanoseconds) /
                                            (static_cast<double>(counted.step_ticks) * tick),
                                        0.0, 1.0)
                           : 0;
  m.step_work = r.step.mean * share;
  m.step_held = r.step.mean * (1 - share);
  m.steps.multiples = counted.stalls.steps().multiples(steps);
  const double loop = r.step.mean * static_cast<double>(r.iterations) * share;
  m.other_processors =
      std::max(0.0, (r.processor - r.worker_processor - r.io_processor - r.helped - loop) / r.taking);
  if (m.other_processors < 0.05) m.other_processors = 0;
}

}  // namespace wick::detail
