// Implements profile/detail/advice.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <limits>
#include <utility>
#include <vector>

#include <wick/profile/detail/advice.hpp>

namespace wick::inline v0_1::detail {

/// Predicts the gain of each change to the pipeline, and names the best.
class adviser {
 public:
  explicit adviser(const report& r) : r_(r) {
    for (const report::stage& s : r.stages) {
      if (s.of_batches) continue;
      busy_ += s.busy;
      latency_ += s.busy + s.blocked;
    }
  }

  diagnosis find() {
    if (r_.iterations == 0 || r_.load.samples_per_second <= 0) return says("No batch was taken yet.");
    if (r_.iterations < enough_for_verdict) {
      if (r_.since_verdict) {
        diagnosis d = diagnose(*r_.since_verdict);
        d.text = "Of the last " + number(r_.since_verdict->iterations, "iteration") + ": " + d.text;
        return d;
      }
      return says("Too early to tell: " + number(r_.iterations, "iteration") + " measured, a verdict needs " +
                  std::to_string(enough_for_verdict) + ".");
    }
    if (r_.wait_mean >= worth_it - 1) {  // the model knows neither cause
      if (r_.processor > 0 && of_processors() >= full && pipeline() < 0.5) return of_others();
      if (r_.worked + r_.others > 0 && own() < 0.5 && workers_busy() >= 0.7) return of_loaders();
    }
    // The more specific ones come first: a later one must gain clearly more to replace it.
    consider(of_memory());
    for (const report::stage& s : r_.stages) {
      if (s.of_batches || s.count == 0) continue;
      consider(of_blocking(s));
      consider(of_slow_ones(s));
      consider(of_waits(s));
    }
    consider(of_reads());
    consider(of_work());
    consider(of_prefetch());
    return best_.by == bound::nothing ? of_step() : std::move(best_);
  }

 private:
  static constexpr double worth_it = 1.05;  // times the throughput
  static constexpr double full = 0.85;      // of all processors; other programs have the rest
  static constexpr double infinite = std::numeric_limits<double>::infinity();

  static diagnosis says(std::string text) {
    diagnosis d;
    d.text = std::move(text);
    return d;
  }
  static std::string number(std::uint64_t n, const char* what) {
    return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
  }
  static std::string each(double seconds, const report::stage& s) {
    return format_duration(seconds / static_cast<double>(std::max<std::uint64_t>(s.count, 1))) + " a sample";
  }
  double of_processors() const { return r_.share(r_.processor, r_.cpus); }
  double workers_busy() const { return r_.share(r_.worked + r_.others, r_.workers); }
  /// The share of the program's processor time that the pipeline took.
  double pipeline() const {
    return std::clamp((r_.worker_processor + r_.io_processor + r_.helped) / r_.processor, 0.0, 1.0);
  }
  double own() const { return r_.worked / (r_.worked + r_.others); }
  std::string usage() const {
    return number(r_.workers, "worker") + " " + format_percent(workers_busy()) + " busy" +
           (r_.processor > 0 ? ", CPUs " + format_percent(of_processors()) + " used" : "");
  }
  std::string waits() const {
    return "Training waits for data " + format_percent(r_.wait_mean) + " of the time";
  }

  /// A change, and its name, such as "With decode 2x faster".
  struct option {
    std::string name;
    report::what_if change;
    bool adds = false;    ///< on top of the previous change: only named if it gains more
    bool beside = false;  ///< helps with any bottleneck, so it doesn't identify this one
  };
  /// Nothing if no option is worthwhile.
  diagnosis make(bound by, std::string stage, const std::string& what, const std::vector<option>& options,
                 const std::string& hint = {}) const {
    diagnosis d;
    std::string gains;
    double before = 0;
    for (const option& o : options) {
      const report::prediction p = predict(r_.load, o.change);
      if (p.gain < worth_it || (o.adds && p.gain < worth_it * before)) continue;
      gains += " " + o.name + (gains.empty() ? ": throughput " : ": ") + p.to_string() + ".";
      before = p.gain;
      if (o.beside || p.gain <= d.gain.gain) continue;
      d.mending = o.change;
      d.gain = p;
    }
    if (gains.empty()) return d;
    d.by = by;
    d.stage = std::move(stage);
    d.text = "Bottleneck: " + what + ". " + waits() + "." + gains + hint;
    return d;
  }
  void consider(diagnosis d) {
    if (d.by == bound::nothing) return;
    if (best_.by == bound::nothing || d.gain.gain > 1.03 * best_.gain.gain) best_ = std::move(d);
  }

  option faster(const std::string& stage) const {
    return {"With " + stage + " 2x faster", {.stage = stage, .times_faster = 2}};
  }
  /// More workers if there are processors for them, else more of both.
  option more_processors() const {
    if (r_.workers < r_.cpus) return {"With .workers = " + std::to_string(r_.cpus), {.workers = r_.cpus}};
    const std::size_t twice = 2 * r_.cpus;
    return {"With " + number(twice, "CPU"), {.workers = std::max(r_.workers, twice), .processors = twice}};
  }
  option more_prefetch() const {
    const std::size_t more = 4 * r_.load.model.prefetch;
    return {"With .prefetch = " + std::to_string(more), {.prefetch = more}};
  }

  diagnosis of_step() const {
    diagnosis d;
    d.mending.step_ms = 0;
    d.gain = predict(r_.load, d.mending);
    const bool step = r_.wait_mean < 0.2;
    d.by = step ? bound::step : bound::nothing;
    d.text = std::string("Bottleneck: ") + (step ? "the training step. " : "not found. ") + waits() +
             "; no change to the pipeline gives 5 % or more.";
    if (!step || d.gain.gain < worth_it) return d;
    char rate[64];
    const double each = d.gain.samples_per_second;
    std::snprintf(rate, sizeof(rate), "%.*f samples/s, ", each < 10 ? 2 : 0, each);
    d.text += " The loader alone: " + std::string(rate) + d.gain.to_string() + ".";
    return d;
  }

  diagnosis of_others() const {
    diagnosis d = says("Bottleneck: the rest of the program (" + format_percent(1 - pipeline()) +
                       " of its CPU time, CPUs " + format_percent(of_processors()) + " used). " + waits() +
                       ". Leave the pipeline more: wick::limit_torch_threads, fewer threads for the model.");
    d.by = bound::others;
    return d;
  }

  diagnosis of_loaders() const {
    diagnosis d =
        says("Bottleneck: other loaders on the same workers (" + format_percent(1 - own()) +
             " of the work). " + waits() + ". " +
             (r_.workers < r_.cpus ? "Use more workers: " + std::to_string(r_.workers) + " now, for " +
                                         number(r_.cpus, "CPU") + "."
                                   : "Take from fewer loaders at a time, or make their stages cheaper."));
    d.by = bound::loaders;
    return d;
  }

  diagnosis of_memory() const {
    double waited = 0;
    for (const report::stage& s : r_.stages) waited += s.waits.memory;
    if (latency_ <= 0 || waited < 0.05 * latency_) return {};
    const std::size_t enough_of_it = 4 * r_.memory_limit;
    return make(
        bound::memory, {},
        "the memory budget (samples wait " + format_percent(waited / latency_) +
            " of their time for room in " + format_bytes(static_cast<double>(r_.memory_limit)) + ")",
        {{"With .memory = " + format_bytes(static_cast<double>(enough_of_it)), {.memory = enough_of_it}},
         {"Without a limit", {.memory = std::size_t{1} << 60}, true}});
  }

  diagnosis of_blocking(const report::stage& s) const {
    const double lock = latency_ > 0 ? s.waits.lock / latency_ : 0;
    if (busy_ <= 0 || (s.held < 0.1 * busy_ && lock < 0.1)) return {};
    const option without{"Without it", {.stage = s.name, .without_blocking = true}};
    if (predict(r_.load, without.change).gain < worth_it) return {};  // of_work() tries halving the rest
    if (s.waits.lock > s.held) {
      return make(bound::lock, s.name,
                  "a lock in " + s.name + " (samples wait for it " + format_percent(lock) + " of their time)",
                  {without, faster(s.name)});
    }
    const std::size_t more = 2 * r_.workers;
    return make(bound::blocking, s.name,
                "a lock or a blocking call in " + s.name + " (" + format_percent(s.held / busy_) +
                    " of worker time, without a CPU)",
                {without, {"With .workers = " + std::to_string(more), {.workers = more}}, faster(s.name)},
                " Run a call on an I/O thread: co_await context.run_blocking(...).");
  }

  /// Preemption makes any sample slow now and then. Only processor time counts, or waits that are both
  /// frequent and longer than a scheduler's time slice.
  diagnosis of_slow_ones(const report::stage& s) const {
    constexpr double turns = 0.1;
    const bool costly = s.costliest >= 8 * s.median, often = s.p99 >= std::max(8 * s.median, turns);
    if (s.median <= 0 || !(costly || (s.blocked > 0 && often))) return {};
    const option without{"Without the slowest 1 %", {.stage = s.name, .without_slowest = 0.01}};
    if (predict(r_.load, without.change).gain < worth_it) return {};
    const double time = costly ? s.costliest : s.p99;
    char times[32];
    std::snprintf(times, sizeof(times), "%.0f", time / s.median);
    const std::string& key = costly ? s.costliest_key : s.slowest_key;
    return make(bound::slow_ones, s.name,
                "a few slow samples in " + s.name + " (" + format_duration(time) +
                    (costly ? " of CPU time, " : ", ") + times + " times the median" +
                    (key.empty() ? "" : ": " + key) + ")",
                {without, more_prefetch()});
  }

  diagnosis of_waits(const report::stage& s) const {
    const double waited = s.waits.other + s.waits.time;
    if (latency_ <= 0 || waited < 0.1 * latency_) return {};
    const std::size_t at_once = r_.load.model.in_flight, more = 4 * std::max<std::size_t>(at_once, 1);
    option both = more_prefetch();
    both.change.in_flight = more;
    both.name += " and .in_flight = " + std::to_string(more);
    return make(bound::waits, s.name,
                "waiting in " + s.name + " (" + each(waited, s) + ", " + std::to_string(at_once) +
                    " samples at a time)",
                {both, {"Without the wait", {.stage = s.name, .times_faster = infinite}}});
  }

  diagnosis of_reads() const {
    const report::stage* most = nullptr;
    double calls = 0;
    for (const report::stage& s : r_.stages) {
      calls += s.waits.io_call;
      if (most == nullptr || s.waits.io_call > most->waits.io_call) most = &s;
    }
    if (most == nullptr || latency_ <= 0 || calls + most->waits.io_thread < 0.1 * latency_) return {};
    const std::size_t more = 4 * r_.io_threads;
    const std::string what = "I/O in " + most->name + " (" + each(calls, *most) + ", " +
                             (r_.requests != 0 ? number(r_.requests, "request") + " at a time"
                                               : number(r_.io_threads, "I/O thread")) +
                             ")";
    // The loader has already found the best number of calls, so the storage is the limit.
    if (r_.load.chooses_io_threads || r_.requests != 0)
      return make(bound::reads, most->name, what, {faster(most->name), more_prefetch()});
    option both = more_prefetch();
    both.change.io_threads = more;
    both.name += " as well";
    both.adds = true;
    return make(bound::reads, most->name, what,
                {{"With .io_threads = " + std::to_string(more), {.io_threads = more}}, both});
  }

  /// The stage with the most work, or the processors.
  diagnosis of_work() const {
    const auto longest = std::max_element(r_.stages.begin(), r_.stages.end(),
                                          [](const auto& a, const auto& b) { return a.busy < b.busy; });
    if (longest == r_.stages.end() || longest->busy <= 0) return {};
    const option faster_stage = faster(longest->name);
    option more = more_processors();
    if (predict(r_.load, faster_stage.change).gain >= worth_it) {
      more.beside = true;
      return make(
          bound::stage, longest->name,
          longest->name + " (" + format_percent(longest->busy / r_.busy()) + " of the work, " + usage() + ")",
          {faster_stage, more});
    }
    // More processors also speed up the training step; that isn't a change to the pipeline.
    if (r_.wait_mean < worth_it - 1) return {};
    return make(bound::stage, {},
                (r_.workers < r_.cpus ? "the number of workers (" : "the CPUs (") + usage() + ")", {more});
  }

  diagnosis of_prefetch() const {
    if (workers_busy() >= 0.7 || of_processors() >= full) return {};
    return make(bound::prefetch, {},
                "too few batches ahead (" + std::to_string(r_.load.model.prefetch) + ", " + usage() + ")",
                {more_prefetch()});
  }

  const report& r_;
  double busy_ = 0, latency_ = 0;
  diagnosis best_;
};

diagnosis diagnose(const report& r) { return adviser(r).find(); }

std::string format_percent(double share) {
  char text[32];
  if (!std::isfinite(share)) share = 0;
  std::snprintf(text, sizeof(text), share < 0.0995 ? "%.1f %%" : "%.0f %%", share * 100);
  return text;
}

std::string format_bytes(double bytes) {
  char text[32];
  const char* const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  if (!std::isfinite(bytes)) bytes = 0;
  while (bytes >= 1023.5 && unit < 4) bytes /= 1024, ++unit;
  std::snprintf(text, sizeof(text), unit == 0 || bytes >= 9.95 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
  return text;
}

}  // namespace wick::detail
