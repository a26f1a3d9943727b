// Implements profile/detail/make_report.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <wick/profile/detail/make_report.hpp>

namespace wick::inline v0_1::detail {

thread_totals thread_totals::since(const thread_totals& before) const {
  thread_totals out = *this;
  out.time = last - before.first;
  out.program -= before.program;
  out.workers -= before.workers;
  out.io -= before.io;
  out.io_calls -= before.io_calls;
  out.own -= before.own;
  out.others -= before.others;
  out.idle_samples -= before.idle_samples;
  out.idle_order -= before.idle_order;
  out.idle_loop -= before.idle_loop;
  for (std::size_t i = 0; i < worker_seconds.size(); ++i) out.worker_seconds[i] -= before.worker_seconds[i];
  for (std::size_t i = 0; i < worker_ticks.size(); ++i) out.worker_ticks[i] -= before.worker_ticks[i];
  return out;
}

void thread_totals::add(const thread_totals& other) {
  // Anything that may throw comes first, so that nothing is counted halfway.
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

void loop_totals::add(const loop_totals& next) {
  if (!next.used.worker_ticks.empty()) used.add(next.used);  // else no epoch ran
  stalls.add(next.stalls);
  helped_ticks += next.helped_ticks;
  step_ticks += next.step_ticks;
  step_nanoseconds += next.step_nanoseconds;
  step_delay += next.step_delay;
}

namespace {

double seconds_of(std::uint64_t nanoseconds) noexcept { return 1e-9 * static_cast<double>(nanoseconds); }

/// A stage's times between two looks, in ticks.
struct clocked {
  explicit clocked(const stage_clocks::sum& s) noexcept : count(s.count) {
    if (s.timed > 0)
      busy = static_cast<double>(s.timed_ticks) * static_cast<double>(s.count) / static_cast<double>(s.timed);
    // A worker that is delayed between handing a sample over and reading its own clock takes that time from
    // the sample's wait, which another worker may have ended already. The causes of waits are noted
    // separately.
    const auto noted = std::accumulate(s.waits.begin() + 1, s.waits.end(), std::uint64_t{0});
    blocked =
        static_cast<double>(std::max(static_cast<std::int64_t>(s.waited), static_cast<std::int64_t>(noted)));
  }
  std::uint64_t count;
  double busy = 0, blocked = 0;
};

/// The shares of work that had a processor, and that gave it up.
struct probed_share {
  double processor = 1, held = 0;
  bool known = false;

  probed_share() = default;
  /// Samples that took long were all probed. The probed ones among the others stand for the rest.
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

/// If no long sample was probed, only the total time lost to preemption is known. Cuts the longest samples
/// until the mean is lower by that much.
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

/// Makes one report.
class report_maker {
 public:
  report_maker(const report_totals& of, const loop_totals& loop) : of_(of), loop_(loop) {}

  report make(const std::vector<std::string>& names) {
    count();
    time_loop();
    find_ratios();
    add_stage(of_.order_row, "order");
    for (std::size_t i = 0; i < names.size(); ++i) add_stage(i, names[i]);
    describe_load();
    return std::move(r_);
  }

 private:
  double in_seconds(std::uint64_t ticks) const noexcept { return static_cast<double>(ticks) * of_.tick; }

  void count() {
    r_.seconds = in_seconds(of_.ticks);
    r_.taking = in_seconds(loop_.used.time);
    r_.workers = of_.workers;
    r_.io_threads = of_.io_threads;
    r_.requests = of_.requests;
    r_.cpus = of_.cpus;
    r_.batches = of_.batches;
    r_.samples = of_.samples;
    r_.worked = in_seconds(loop_.used.own);
    r_.others = in_seconds(loop_.used.others);
    r_.helped = in_seconds(loop_.helped_ticks);
    r_.io_calls = loop_.used.io_calls;
    r_.worker_processor = loop_.used.workers;
    r_.io_processor = loop_.used.io;
    r_.processor = loop_.used.program;
    r_.idle = {in_seconds(loop_.used.idle_samples), in_seconds(loop_.used.idle_order),
               in_seconds(loop_.used.idle_loop)};
    r_.failures = of_.failures;
    r_.outcomes = of_.outcomes;
    r_.memory_limit = of_.memory_limit;
    r_.memory_used = of_.memory_used;
    r_.memory_peak = of_.memory_peak;
    for (std::size_t i = 0; i < loop_.used.worker_ticks.size(); ++i)
      r_.each_worker.push_back({in_seconds(loop_.used.worker_ticks[i]), loop_.used.worker_seconds[i]});
  }

  report::timing timing(const durations& d, double sum) const {
    return {r_.iterations == 0 ? 0 : sum * of_.tick / static_cast<double>(r_.iterations),
            d.quantile(0.5) * of_.tick, d.quantile(0.99) * of_.tick};
  }
  void time_loop() {
    const stall_meter& stalls = loop_.stalls;
    r_.wait_mean = stalls.mean();
    r_.wait_median = stalls.median();
    r_.iterations = stalls.count();
    const auto waited = static_cast<double>(stalls.waited_ticks()),
               all = static_cast<double>(stalls.total_ticks());
    r_.waiting = timing(stalls.waits(), waited);
    r_.iteration = timing(stalls.iterations(), all);
    r_.step = timing(stalls.steps(), all - waited);
    if (loop_.step_ticks != 0)
      r_.step_delay = std::min(1.0, seconds_of(loop_.step_delay) / in_seconds(loop_.step_ticks));
  }

  /// Fits the inferred times of stages to the measured times of runs.
  void find_ratios() {
    double samples = 0, batches = 0;
    for (std::size_t i = 0; i + 1 < of_.rows.size(); ++i)
      (of_.rows[i].of_samples ? samples : batches) += clocked(of_.rows[i].sum).busy;
    stage_clocks::sum run = of_.rows.back().sum;
    const auto runs = static_cast<double>(run.timed_ticks);
    fit_ = of_.clocks_always_read || samples <= 0 ? 1 : runs / samples;
    // Workers run while the clocks are read, so a run that began before the last report may end in between.
    const double limit = r_.seconds * static_cast<double>(r_.workers) + r_.helped;
    const double busy = (samples * fit_ + batches) * of_.tick;
    bound_ = busy > limit && busy > 0 ? limit / busy : 1;
    // Short samples have one ratio for all stages, that of whole runs. A run's probe covers the whole run,
    // and `timed` counts samples.
    run.timed = run.probed.count;
    run.timed_ticks = run.probed.ticks;
    of_runs_ = probed_share(run, of_.tick);
    of_batch_ = probed_share(of_.rows[std::min(of_.batching, of_.order_row)].sum, of_.tick);
  }

  report::wait_times waits_of(const stage_clocks::sum& s, double blocked) const {
    const auto of = [&](wait_for what) { return in_seconds(s.waits[static_cast<std::size_t>(what)]); };
    report::wait_times w;
    w.io_thread = of(wait_for::io_thread);
    w.io_call = of(wait_for::io_call) + of(wait_for::server) + of(wait_for::sample);
    w.memory = of(wait_for::memory);
    w.lock = of(wait_for::lock);
    w.time = of(wait_for::time);
    w.worker = of(wait_for::worker);
    w.other = std::max(0.0, blocked - w.io_thread - w.io_call - w.memory - w.lock - w.time - w.worker);
    return w;
  }
  /// The figures of a row of clocks.
  report::stage stage_of(std::size_t row, std::string name) const {
    const row_totals& from = of_.rows[row];
    const stage_clocks::sum& s = from.sum;
    const clocked c(s);
    report::stage out;
    out.name = std::move(name);
    out.count = c.count;
    out.busy = c.busy * (from.of_samples ? fit_ : 1) * bound_ * of_.tick;
    out.blocked = c.blocked * of_.tick;
    probed_share p = row >= of_.phase_row ? of_batch_ : probed_share(s, of_.tick);
    if (!p.known && from.of_samples) p = of_runs_;
    out.processor = out.busy * p.processor;
    out.held = out.busy * p.held;
    out.bytes = s.bytes;
    out.median = s.times.quantile(0.5) * of_.tick;
    out.p90 = s.times.quantile(0.9) * of_.tick;
    out.p99 = s.times.quantile(0.99) * of_.tick;
    out.slowest = in_seconds(from.slow.ticks);
    out.slowest_key = from.slowest_key;
    out.costliest = seconds_of(from.slow.nanoseconds);
    out.costliest_key = from.costliest_key;
    out.waits = waits_of(s, out.blocked);
    for (const report::outcome& o : r_.outcomes) {
      if (o.stage == out.name && o.outcome != "good when tried again") out.failed += o.count;
    }
    return out;
  }
  /// Adds a stage, including its phases in the slot.
  void add_stage(std::size_t row, std::string name) {
    report::stage s = stage_of(row, std::move(name));
    s.of_batches = !of_.rows[row].of_samples;
    if (s.count == 0 && row != of_.order_row) return;
    double longest = s.busy;
    std::size_t longest_row = row;
    for (std::size_t p = 0; p < phase_count; ++p) {
      if (of_.phase_stages[p] != row) continue;
      const report::stage part = stage_of(of_.phase_row + p, {});
      s.busy += part.busy;
      s.processor += part.processor;
      s.held += part.held;
      s.deferred += part.busy;
      if (part.slowest > s.slowest) s.slowest = part.slowest, s.slowest_key = part.slowest_key;
      if (part.costliest > s.costliest) s.costliest = part.costliest, s.costliest_key = part.costliest_key;
      if (part.busy <= longest) continue;
      longest = part.busy;  // the quantiles of single samples are those of the longest part
      s.median = part.median, s.p90 = part.p90, s.p99 = part.p99;
      longest_row = of_.phase_row + p;
    }
    longest_rows_.push_back(longest_row);
    r_.stages.push_back(std::move(s));
  }

  // ---- the model for predict() ----

  void describe_load() {
    measured_load& load = r_.load;
    load_model& m = load.model;
    m.workers = r_.workers;
    m.io_threads = r_.io_threads + r_.requests;
    m.processors = r_.cpus;
    m.in_flight = of_.in_flight;
    m.prefetch = of_.prefetch;
    // A rank takes a share of a batch, and pack() changes its rows, so the delivered samples count.
    m.batch = r_.batches == 0 ? of_.batch
                              : std::max<std::size_t>(
                                    1, static_cast<std::size_t>((r_.samples + r_.batches / 2) / r_.batches));
    m.memory = static_cast<double>(r_.memory_limit);
    m.loop_helps = of_.loop_helps && r_.helped > 0;
    m.at_a_time = of_.at_a_time;
    load.chooses_in_flight = of_.chooses_in_flight;
    load.chooses_io_threads = of_.chooses_io_threads;
    if (r_.samples == 0 || r_.taking <= 0) return;
    load.samples_per_second = r_.samples_per_second();
    const auto batches = static_cast<double>(std::max<std::uint64_t>(r_.batches, 1));
    double longest = 0;
    for (std::size_t i = 0; i < r_.stages.size(); ++i) {
      const report::stage& s = r_.stages[i];
      if (!s.of_batches) {
        add_to_model(s, of_.rows[longest_rows_[i]].sum);
        continue;
      }
      m.batch_work += s.processor / batches;
      m.batch_held += s.held / batches;
      if (s.busy > longest) longest = s.busy, load.batch_stage = s.name;
    }
    load.error = all_ > 0 ? std::sqrt(errors_) / all_ : 0;
    describe_loop(m);
  }
  void add_to_model(const report::stage& s, const stage_clocks::sum& times) {
    const double made = static_cast<double>(std::max<std::uint64_t>(of_.rows[of_.order_row].sum.count, 1));
    const double io_share = r_.io_calls > 0 ? std::clamp(r_.io_processor / r_.io_calls, 0.0, 1.0) : 0;
    load_model::stage out;
    out.work = s.processor / made;
    out.held = s.held / made;
    out.io = s.waits.io_call / made;
    out.io_work = out.io * io_share;
    out.wait = (s.waits.time + s.waits.other) / made;
    out.lock = s.waits.lock / made;
    out.bytes = static_cast<double>(s.bytes) / made;
    out.times.multiples = times.times.with(times.turns).multiples(steps);
    if (times.turns.none() && s.blocked <= 0) without_turns(out.times.multiples, s);
    out.sizes.multiples = times.sizes.multiples(steps);
    const auto n = static_cast<double>(times.times.count());
    double variance = 0;
    for (const float x : out.times.multiples)
      variance += (static_cast<double>(x) - 1) * (static_cast<double>(x) - 1);
    const double mean = out.work + out.held + out.io + out.wait;
    if (n > 0 && !out.times.constant()) errors_ += mean * mean * variance / (steps * n);
    all_ += mean;
    r_.load.model.stages.push_back(std::move(out));
    r_.load.names.push_back(s.name);
  }
  void describe_loop(load_model& m) const {
    const double share =
        loop_.step_ticks > 0
            ? std::clamp(seconds_of(loop_.step_nanoseconds) / in_seconds(loop_.step_ticks), 0.0, 1.0)
            : 0;
    m.step_work = r_.step.mean * share;
    m.step_held = r_.step.mean * (1 - share);
    m.steps.multiples = loop_.stalls.steps().multiples(steps);
    const double loop = r_.step.mean * static_cast<double>(r_.iterations) * share;
    m.other_processors =
        std::max(0.0, (r_.processor - r_.worker_processor - r_.io_processor - r_.helped - loop) / r_.taking);
    if (m.other_processors < 0.05) m.other_processors = 0;
  }

  static constexpr std::size_t steps = 1000;  // of a distribution

  const report_totals& of_;
  const loop_totals& loop_;
  report r_;
  double fit_ = 1, bound_ = 1;
  probed_share of_runs_, of_batch_;
  std::vector<std::size_t> longest_rows_;  // for each stage: its own row, or that of its longest phase
  double errors_ = 0, all_ = 0;
};

}  // namespace

report make_report(const report_totals& of, const loop_totals& loop, const std::vector<std::string>& names) {
  return report_maker(of, loop).make(names);
}

}  // namespace wick::detail
