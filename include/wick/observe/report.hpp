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

namespace wick {

struct stage_report {
  std::string name;
  std::uint64_t count = 0;  ///< samples, for stages behind batch() batches
  double busy = 0;          ///< seconds of work, summed over workers
  double blocked = 0;       ///< seconds of suspension, summed over samples (many wait at the same time)
};

/// What became of samples that failed in a stage: "decode", "replaced", 12.
struct outcome_report {
  std::string stage;
  std::string_view outcome;
  std::uint64_t count = 0;
};

/// What loader::report() gives: everything since the report before it. Print it.
struct report {
  double seconds = 0;
  std::size_t workers = 0;
  std::size_t cpus = 0;
  std::uint64_t batches = 0;
  std::uint64_t samples = 0;
  double helped = 0;       ///< seconds in which the waiting training loop ran samples itself
  double wait_mean = 0;    ///< share of the training loop's time spent waiting for data, 0 … 1
  double wait_median = 0;  ///< the same of the median iteration
  std::uint64_t iterations = 0;
  std::uint64_t failures = 0;            ///< samples that could not be delivered
  std::vector<outcome_report> outcomes;  ///< what became of them, and of those that a retry has saved
  std::vector<stage_report> stages;
  std::vector<std::string> notes;

  double busy() const noexcept {
    double sum = 0;
    for (const stage_report& s : stages) sum += s.busy;
    return sum;
  }
  /// Share of the workers' time in which they worked, 0 … 1.
  double utilisation() const noexcept {
    if (seconds <= 0 || workers == 0) return 0;
    return std::clamp((busy() - helped) / (seconds * static_cast<double>(workers)), 0.0, 1.0);
  }
  std::string advice() const;
  std::string to_string() const;
};

namespace detail {
/// "12.30 ms": the unit is chosen by what will be printed, so 0.999999 s is "1.00 s" and not "1000.00 ms".
inline std::string format_duration(double seconds) {
  char text[32];
  if (seconds >= 99.995) std::snprintf(text, sizeof(text), "%.0f s", seconds);
  else if (seconds >= 0.999995) std::snprintf(text, sizeof(text), "%.2f s", seconds);
  else if (seconds >= 0.999995e-3) std::snprintf(text, sizeof(text), "%.2f ms", seconds * 1e3);
  else if (seconds >= 0.9995e-6) std::snprintf(text, sizeof(text), "%.2f us", seconds * 1e6);
  else std::snprintf(text, sizeof(text), "%.0f ns", seconds * 1e9);
  return text;
}
/// "4.2 %", from a tenth on "42 %".
inline std::string format_percent(double share) {
  char text[32];
  std::snprintf(text, sizeof(text), share < 0.1 ? "%.1f %%" : "%.0f %%", share * 100);
  return text;
}
}  // namespace detail

/// One sentence: is the loop kept waiting, by which stage, and what would help.
inline std::string report::advice() const {
  if (iterations == 0) return "nothing was taken yet";
  if (wait_mean < 0.01) return "the training loop hardly waits for data: the model sets the pace";
  const auto slowest = std::max_element(stages.begin(), stages.end(),
                                        [](const auto& a, const auto& b) { return a.busy < b.busy; });
  const auto waiting = std::max_element(stages.begin(), stages.end(),
                                        [](const auto& a, const auto& b) { return a.blocked < b.blocked; });
  std::string text = "the training loop waits " + detail::format_percent(wait_mean) + " of its time; ";
  if (utilisation() > 0.7 && slowest != stages.end()) {
    text += "the workers are busy, with '" + slowest->name + "' for " +
            detail::format_percent(busy() > 0 ? slowest->busy / busy() : 0) + " of their time: ";
    if (workers < cpus) {
      text += "use more workers (" + std::to_string(workers) + " now, " + std::to_string(cpus) + " processors)";
    } else {
      text += "make that stage cheaper (smaller pictures on disk, work moved to the device, a faster codec)";
    }
  } else if (waiting != stages.end() && waiting->blocked > 0) {
    text += "the workers are idle and samples wait in '" + waiting->name +
            "': raise io_threads and prefetch, or bring the data closer";
  } else {
    text += "the workers are idle: raise prefetch";
  }
  return text;
}

/// The table, one line a stage.
inline std::string report::to_string() const {
  char line[256];
  std::string out;
  std::snprintf(line, sizeof(line), "%llu samples in %s (%.0f samples/s), %llu batches, %zu worker%s %s busy",
                static_cast<unsigned long long>(samples), detail::format_duration(seconds).c_str(),
                seconds > 0 ? static_cast<double>(samples) / seconds : 0.0, static_cast<unsigned long long>(batches),
                workers, workers == 1 ? "" : "s", detail::format_percent(utilisation()).c_str());
  out += line;
  if (seconds > 0 && helped / seconds > 0.005) {
    out += ", the waiting loop helps " + detail::format_percent(helped / seconds) + " of its time";
  }
  out += '\n';
  std::size_t width = 5;
  for (const stage_report& s : stages) width = std::max(width, s.name.size());
  const int w = static_cast<int>(std::min<std::size_t>(width, 40));
  std::snprintf(line, sizeof(line), "  %-*s %10s %10s %7s %10s %10s\n", w, "stage", "count", "busy", "share", "each",
                "blocked");
  out += line;
  const double all = busy();
  for (const stage_report& s : stages) {
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
