/// \file
/// The bodies of what observe/detail/advice.hpp declares. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <wick/observe/detail/advice.hpp>
#include <wick/observe/report.hpp>
#include <wick/observe/what_if.hpp>

namespace wick::detail {

/// Tries what a loader's report may name, and tells of what would help most.
class adviser {
 public:
  explicit adviser(const report& r) : r_(r) {
    for (const stage_report& s : r.stages) {
      if (s.part || s.of_batches) continue;
      busy_ += s.busy;
      latency_ += s.busy + s.blocked;
    }
  }

  diagnosis find() {
    if (r_.iterations == 0 || r_.load.samples_per_second <= 0) {
      diagnosis d;
      d.text = "nothing was taken yet";
      return d;
    }
    if (r_.wait_mean < hardly) return of_step();
    if (r_.processor > 0 && of_processors() >= full && pipeline() < 0.5) return of_others();
    if (r_.worked + r_.others > 0 && own() < 0.5 && r_.share(r_.worked + r_.others, r_.workers) >= most)
      return of_loaders();
    // What one thing would give, from the most special: of two that give about as much it is the former.
    consider(of_memory());
    for (const stage_report& s : r_.stages) {
      if (s.part || s.of_batches || s.count == 0) continue;
      consider(of_blocking(s));
      consider(of_slow_ones(s));
      consider(of_waits(s));
    }
    consider(of_reads());
    if (best_.by != bound::nothing) return std::move(best_);
    diagnosis stage = of_stage();
    consider(of_prefetch());
    if (best_.by != bound::nothing && best_.gain.gain > 1.2 &&
        r_.share(r_.worked + r_.others, r_.workers) < most && of_processors() < full)
      return std::move(best_);
    return stage;
  }

 private:
  static constexpr double hardly = 0.01;  // of the loop's time
  static constexpr double full =
      0.85;  // of all processors: the rest is lost, and goes to what else runs there
  static constexpr double most = 0.7;  // of the workers' time
  static constexpr double worth_it = 1.1;
  static constexpr double infinite = std::numeric_limits<double>::infinity();

  static std::string number(std::size_t n, const char* what) {
    return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
  }
  static std::string quoted(const std::string& name) { return "'" + name + "'"; }
  static std::string bytes(double n) {
    char text[32];
    const char* const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    std::size_t unit = 0;
    while (n >= 1023.5 && unit < 4) n /= 1024, ++unit;
    std::snprintf(text, sizeof(text), unit == 0 || n >= 9.95 ? "%.0f %s" : "%.1f %s", n, units[unit]);
    return text;
  }
  std::string gain_of(const what_if& w) const { return predict(r_.load, w).to_string(); }
  double of_processors() const { return r_.share(r_.processor, r_.cpus); }
  /// The share of the program's processor time that the pipeline took.
  double pipeline() const {
    return std::clamp((r_.worker_processor + r_.io_processor + r_.helped) / r_.processor, 0.0, 1.0);
  }
  double own() const { return r_.worked / (r_.worked + r_.others); }
  std::string waits() const { return "; the loop waits " + format_percent(r_.wait_mean) + " of its time"; }

  void consider(diagnosis d) {
    if (d.by == bound::nothing || !(d.gain.gain >= worth_it)) return;
    if (best_.by == bound::nothing || d.gain.gain > 1.03 * best_.gain.gain) best_ = std::move(d);
  }
  diagnosis make(bound by, std::string stage, what_if mending) const {
    diagnosis d;
    d.by = by;
    d.stage = std::move(stage);
    d.mending = std::move(mending);
    d.gain = predict(r_.load, d.mending);
    return d;
  }

  diagnosis of_step() const {
    diagnosis d = make(bound::step, {}, {.step_ms = 0});
    char rate[64];
    std::snprintf(rate, sizeof(rate), "%.4g samples/s", d.gain.samples_per_second);
    d.text = "the training step bounds you: the workers are idle for " +
             format_percent(1 - r_.share(r_.worked + r_.others, r_.workers)) +
             " of their time. Without the step the loader would give " + std::string(rate) + ", " +
             d.gain.to_string();
    return d;
  }

  diagnosis of_others() const {
    diagnosis d;
    d.by = bound::others;
    d.text = "the rest of the program bounds you: all of the time of " + number(r_.cpus, "processor") +
             " is used, " + format_percent(1 - pipeline()) + " of it by others than the pipeline" + waits() +
             ". Leave the pipeline more (wick::share_cores, fewer threads of the model's)";
    return d;
  }

  diagnosis of_loaders() const {
    diagnosis d;
    d.by = bound::loaders;
    d.text = "other loaders bound you: they have this one's workers for " + format_percent(1 - own()) +
             " of their work" + waits() + ". " +
             (r_.workers < r_.cpus ? "Use more workers (" + std::to_string(r_.workers) + " now, " +
                                         number(r_.cpus, "processor") + ")"
                                   : "Take from fewer loaders at a time, or make their stages cheaper");
    return d;
  }

  diagnosis of_memory() const {
    double waited = 0;
    for (const stage_report& s : r_.stages) waited += s.waits.memory;
    if (latency_ <= 0 || waited < 0.05 * latency_) return {};
    diagnosis d = make(bound::memory, {}, {.memory = std::size_t{1} << 60});
    const std::size_t enough = 4 * r_.memory_limit;
    d.text = "memory bounds you: samples wait for " + format_percent(waited / latency_) +
             " of their time for room in " + bytes(static_cast<double>(r_.memory_limit)) +
             " (loader_options::memory). With " + bytes(static_cast<double>(enough)) + ": " +
             gain_of({.memory = enough}) + "; without bound: " + d.gain.to_string();
    return d;
  }

  diagnosis of_blocking(const stage_report& s) const {
    const double lock = latency_ > 0 ? s.waits.lock / latency_ : 0;
    if (busy_ <= 0 || (s.held < 0.1 * busy_ && lock < 0.1)) return {};
    const bool suspended = s.waits.lock > s.held;
    diagnosis d =
        make(suspended ? bound::lock : bound::blocking, s.name, {.stage = s.name, .without_blocking = true});
    if (suspended) {
      d.text = "a lock bounds you: samples wait in " + quoted(s.name) + " for " + format_percent(lock) +
               " of their time for it. Without: " + d.gain.to_string();
    } else {
      const std::size_t more = 2 * r_.workers;
      d.text = quoted(s.name) + " bounds you: it keeps its workers without a processor for " +
               format_percent(s.held / busy_) +
               " of their time, in a lock or in a call that blocks. Without: " + d.gain.to_string() +
               ". Hold the lock for less, or leave the worker while the call lasts (co_await "
               "context.run_blocking(…)); if it is a call, " +
               number(more, "worker") + " instead of " + std::to_string(r_.workers) + ": " +
               gain_of({.workers = more});
    }
    return d;
  }

  diagnosis of_slow_ones(const stage_report& s) const {
    if (s.slowest <= 0 || s.median <= 0 || s.slowest < 8 * s.median) return {};
    diagnosis d = make(bound::slow_ones, s.name, {.stage = s.name, .without_slowest = 0.01});
    char times[32];
    std::snprintf(times, sizeof(times), "%.0f", s.slowest / s.median);
    d.text =
        "a few samples bound you: in " + quoted(s.name) + " the slowest takes " + format_duration(s.slowest) +
        ", " + times + " times the median" + (s.slowest_key.empty() ? "" : " (" + s.slowest_key + ")") +
        ". Without the slowest hundredth: " + d.gain.to_string() + "; with prefetch " +
        std::to_string(4 * r_.load.model.prefetch) + ": " + gain_of({.prefetch = 4 * r_.load.model.prefetch});
    return d;
  }

  diagnosis of_waits(const stage_report& s) const {
    const double waited = s.waits.other + s.waits.time;
    if (latency_ <= 0 || waited < 0.1 * latency_) return {};
    diagnosis d = make(bound::waits, s.name, {.stage = s.name, .times_faster = infinite});
    const std::size_t more = 4 * std::max<std::size_t>(r_.load.model.in_flight, 1);
    d.text = "what " + quoted(s.name) + " waits for bounds you: " +
             format_duration(waited / static_cast<double>(std::max<std::uint64_t>(s.count, 1))) + " each, " +
             std::to_string(r_.load.model.in_flight) + " samples at a time. With in_flight " +
             std::to_string(more) + " and prefetch " + std::to_string(4 * r_.load.model.prefetch) + ": " +
             gain_of({.in_flight = more, .prefetch = 4 * r_.load.model.prefetch}) +
             "; without it: " + d.gain.to_string();
    return d;
  }

  diagnosis of_reads() const {
    const stage_report* most_waited = nullptr;
    double calls = 0;
    for (const stage_report& s : r_.stages) {
      calls += s.waits.io_call;
      if (most_waited == nullptr || s.waits.io_call > most_waited->waits.io_call) most_waited = &s;
    }
    if (most_waited == nullptr || latency_ <= 0 || calls + most_waited->waits.io_thread < 0.1 * latency_)
      return {};
    const std::size_t more = 4 * r_.io_threads;
    diagnosis d = make(bound::reads, most_waited->name,
                       {.io_threads = 16 * r_.io_threads, .prefetch = 16 * r_.load.model.prefetch});
    const std::string each =
        format_duration(calls / static_cast<double>(std::max<std::uint64_t>(most_waited->count, 1)));
    d.text = "reads bound you: " + each + " each in " + quoted(most_waited->name) + ", " +
             std::to_string(r_.io_threads) + " at a time. With io_threads " + std::to_string(more) + ": " +
             gain_of({.io_threads = more}) + "; with prefetch " + std::to_string(4 * r_.load.model.prefetch) +
             " as well: " + gain_of({.io_threads = more, .prefetch = 4 * r_.load.model.prefetch});
    return d;
  }

  diagnosis of_prefetch() const {
    const std::size_t more = 4 * r_.load.model.prefetch;
    diagnosis d = make(bound::prefetch, {}, {.prefetch = more});
    d.text = "too little is made ahead: the workers are busy for " +
             format_percent(r_.share(r_.worked + r_.others, r_.workers)) + " of their time" + waits() +
             ". With prefetch " + std::to_string(more) + ": " + d.gain.to_string();
    return d;
  }

  /// The stage with the most work, and the workers.
  diagnosis of_stage() const {
    const stage_report* slowest = nullptr;
    double most_busy = 0;
    for (std::size_t i = 0; i < r_.stages.size(); ++i) {
      if (r_.stages[i].part) continue;
      const stage_report* longest = &r_.stages[i];
      double busy = r_.stages[i].busy;
      for (std::size_t p = i; p-- > 0 && r_.stages[p].part;) {
        busy += r_.stages[p].busy;
        if (r_.stages[p].busy > longest->busy) longest = &r_.stages[p];
      }
      if (busy <= most_busy) continue;
      most_busy = busy;
      slowest = &r_.stages[i];
      // Of what has parts, the one that is most of it.
      if (longest->busy > busy / 2) slowest = longest, most_busy = longest->busy;
    }
    if (slowest == nullptr) {
      diagnosis d;
      d.text = "no stage takes long enough to tell" + waits();
      return d;
    }
    const bool all_used = of_processors() >= full;
    diagnosis d = make(bound::stage, slowest->name, {.stage = slowest->name, .times_faster = 2});
    d.text = quoted(slowest->name) + " bounds you: " + number(r_.workers, "worker") +
             (r_.workers == 1 ? " is " : " are ") +
             format_percent(r_.share(r_.worked + r_.others, r_.workers)) + " busy" +
             (r_.share(r_.helped, 1) > 0.005 ? ", and the waiting loop runs samples itself" : "") +
             (all_used ? ", all of the time of " + number(r_.cpus, "processor") + " is used" : "") + ", " +
             format_percent(most_busy / std::max(r_.busy(), 1e-12)) + " of the work in " +
             quoted(slowest->name) + waits() + ". Twice as fast: " + d.gain.to_string();
    if (!all_used && r_.workers < r_.cpus) {
      d.text += "; with " + number(r_.cpus, "worker") + ": " + gain_of({.workers = r_.cpus});
    } else {
      const std::size_t twice = 2 * r_.cpus;
      d.text += "; with " + number(twice, "processor") + ": " +
                gain_of({.workers = std::max(r_.workers, twice), .processors = twice});
    }
    return d;
  }

  const report& r_;
  double busy_ = 0, latency_ = 0;
  diagnosis best_;
};

diagnosis diagnose(const report& r) { return adviser(r).find(); }

std::string format_percent(double share) {
  char text[32];
  std::snprintf(text, sizeof(text), share < 0.0995 ? "%.1f %%" : "%.0f %%", share * 100);
  return text;
}

}  // namespace wick::detail
