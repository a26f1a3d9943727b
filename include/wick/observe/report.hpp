/// \file
/// Where the time went: a table of stages, the share of waiting, and what to change.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include <wick/observe/detail/advice.hpp>

namespace wick {

namespace detail {

/// How often a stage ran, and how long that took.
struct stage_report {
  std::string name;         ///< as errors show it
  std::uint64_t count = 0;  ///< samples, each as often as it was tried; for stages behind batch() batches
  double busy = 0;          ///< seconds of work, summed over workers
  double blocked = 0;       ///< seconds of suspension, summed over samples (many wait at the same time)
};

/// What became of samples that failed in a stage: "decode", "replaced", 12.
struct outcome_report {
  std::string stage;         ///< that failed
  std::string_view outcome;  ///< "failed", "skipped", "replaced", "good when tried again"
  std::uint64_t count = 0;   ///< samples
};

}  // namespace detail

/// What loader::report() gives: everything since the report before it. Print it.
struct report {
  double seconds = 0;          ///< since the report before
  double taking = 0;           ///< of these, while an epoch was being taken: from epoch() to its end
  std::size_t workers = 0;     ///< of the executor
  std::size_t io_threads = 0;  ///< of the executor
  std::size_t cpus = 0;        ///< processors that the program may use
  std::uint64_t batches = 0;   ///< delivered
  std::uint64_t samples = 0;   ///< delivered
  // While an epoch was being taken:
  double worked = 0;    ///< seconds for which workers ran this loader's samples and batches, summed over them
  double others = 0;    ///< the same of other loaders on the executor
  double helped = 0;    ///< seconds in which the waiting training loop ran samples itself
  double io_calls = 0;  ///< seconds that I/O threads were in calls, for whomever, summed over them
  double worker_processor =
      0;  ///< processor time that the workers took, for whomever; 0 where the system doesn't say
  double io_processor = 0;       ///< the same of the I/O threads
  double processor = 0;          ///< the same of the whole program
  double wait_mean = 0;          ///< share of the training loop's time spent waiting for data, 0 … 1
  double wait_median = 0;        ///< the same of the median iteration
  std::uint64_t iterations = 0;  ///< of the training loop
  std::uint64_t failures = 0;    ///< samples that could not be delivered
  std::vector<detail::outcome_report> outcomes;  ///< what became of them, and of those that a retry has saved
  std::vector<detail::stage_report> stages;      ///< in the order of the pipeline
  std::vector<std::string> notes;                ///< what is worth knowing, a line each

  /// Seconds of work in all stages, summed over workers.
  double busy() const noexcept {
    double sum = 0;
    for (const detail::stage_report& s : stages) sum += s.busy;
    return sum;
  }
  /// Share of the workers' time in which they worked for this loader, 0 … 1.
  double utilization() const noexcept { return share(worked, workers); }
  /// `some` of the time that `threads` had while an epoch was being taken, 0 … 1.
  double share(double some, std::size_t threads) const noexcept {
    if (taking <= 0 || threads == 0) return 0;
    return std::clamp(some / (taking * static_cast<double>(threads)), 0.0, 1.0);
  }
  /// One sentence: is the loop kept waiting, by what, and what would help.
  std::string advice() const;
  /// All of it as text, a line a stage: what `std::cout << train.report()` prints.
  std::string to_string() const;
};

namespace detail {
/// "12.30 ms": the unit is chosen by what will be printed, so 0.999999 s is "1.00 s" and not "1000.00 ms".
inline std::string format_duration(double seconds) {
  char text[32];
  if (seconds >= 99.995)
    std::snprintf(text, sizeof(text), "%.0f s", seconds);
  else if (seconds >= 0.999995)
    std::snprintf(text, sizeof(text), "%.2f s", seconds);
  else if (seconds >= 0.999995e-3)
    std::snprintf(text, sizeof(text), "%.2f ms", seconds * 1e3);
  else if (seconds >= 0.9995e-6)
    std::snprintf(text, sizeof(text), "%.2f us", seconds * 1e6);
  else
    std::snprintf(text, sizeof(text), "%.0f ns", seconds * 1e9);
  return text;
}
}  // namespace detail

/// One sentence: is the loop kept waiting, by what, and what would help.
inline std::string report::advice() const {
  detail::load_figures f;
  f.iterations = iterations;
  f.wait = wait_mean;
  f.helped = share(helped, 1);
  f.workers = workers;
  f.io_threads = io_threads;
  f.cpus = cpus;
  f.processors = share(processor, cpus);
  if (processor > 0)
    f.pipeline = std::clamp((worker_processor + io_processor + helped) / processor, 0.0, 1.0);
  f.busy = share(worked + others, workers);
  f.running = worker_processor > 0 ? share(worker_processor, workers) : f.busy;
  f.busy = std::max(f.busy, f.running);
  if (worked + others > 0) f.own = worked / (worked + others);
  f.io_busy = share(io_calls, io_threads);
  double blocked = 0;
  const detail::stage_report *slowest = nullptr, *waiting = nullptr;
  for (const detail::stage_report& s : stages) {
    blocked += s.blocked;
    if (s.busy > 0 && (slowest == nullptr || s.busy > slowest->busy)) slowest = &s;
    if (s.blocked > 0 && (waiting == nullptr || s.blocked > waiting->blocked)) waiting = &s;
  }
  if (seconds > 0) f.suspended = blocked / seconds;
  if (slowest != nullptr) f.slowest = slowest->name, f.slowest_share = slowest->busy / busy();
  if (waiting != nullptr) f.waits_in = waiting->name;
  return detail::advise(f);
}

/// The table, one line a stage.
inline std::string report::to_string() const {
  char line[256];
  std::string out;
  std::snprintf(line, sizeof(line), "%llu samples in %s (%.0f samples/s), %llu batches, %zu worker%s %s busy",
                static_cast<unsigned long long>(samples), detail::format_duration(taking).c_str(),
                taking > 0 ? static_cast<double>(samples) / taking : 0.0,
                static_cast<unsigned long long>(batches), workers, workers == 1 ? "" : "s",
                detail::format_percent(utilization()).c_str());
  out += line;
  if (share(others, workers) > 0.005) {
    out += ", with other loaders " + detail::format_percent(share(others, workers));
  }
  if (share(helped, 1) > 0.005) {
    out += ", the waiting loop helps " + detail::format_percent(share(helped, 1)) + " of its time";
  }
  out += '\n';
  if (taking > 0 && processor > 0) {
    std::snprintf(line, sizeof(line),
                  "processors: %.2f of %zu in use, %.2f by workers, %.2f by I/O threads\n",
                  processor / taking, cpus, worker_processor / taking, io_processor / taking);
    out += line;
  }
  std::size_t width = 5;
  for (const detail::stage_report& s : stages) width = std::max(width, s.name.size());
  const int w = static_cast<int>(std::min<std::size_t>(width, 40));
  std::snprintf(line, sizeof(line), "  %-*s %10s %10s %7s %10s %10s\n", w, "stage", "count", "busy", "share",
                "each", "blocked");
  out += line;
  const double all = busy();
  for (const detail::stage_report& s : stages) {
    std::snprintf(line, sizeof(line), "  %-*.40s %10llu %10s %7s %10s %10s\n", w, s.name.c_str(),
                  static_cast<unsigned long long>(s.count), detail::format_duration(s.busy).c_str(),
                  detail::format_percent(all > 0 ? s.busy / all : 0).c_str(),
                  s.count ? detail::format_duration(s.busy / static_cast<double>(s.count)).c_str() : "-",
                  s.blocked > 0 ? detail::format_duration(s.blocked).c_str() : "-");
    out += line;
  }
  std::snprintf(line, sizeof(line), "waiting for data: mean %s, median %s of %llu iterations\n",
                detail::format_percent(wait_mean).c_str(), detail::format_percent(wait_median).c_str(),
                static_cast<unsigned long long>(iterations));
  out += line;
  if (failures != 0 || !outcomes.empty()) {
    out += std::to_string(failures) + (failures == 1 ? " sample failed" : " samples failed");
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      out += (i == 0 ? " (" : ", ") + outcomes[i].stage + ": " + std::to_string(outcomes[i].count) + " " +
             std::string(outcomes[i].outcome);
    }
    out += outcomes.empty() ? "; see loader.ledger()\n" : "); see loader.ledger()\n";
  }
  for (const std::string& n : notes) out += "note: " + n + "\n";
  return out + advice() + "\n";
}

template <class Stream>
  requires requires(Stream& s, const std::string& text) { s << text; }
Stream& operator<<(Stream& to, const report& r) {
  to << r.to_string();
  return to;
}

}  // namespace wick
