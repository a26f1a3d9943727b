/// \file
/// The bodies of what observe/report.hpp declares. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>

#include <wick/observe/detail/advice.hpp>
#include <wick/observe/report.hpp>

namespace wick::detail {

std::string format_duration(double seconds) {
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

}  // namespace wick::detail

namespace wick {

double report::busy() const noexcept {
  double sum = 0;
  for (const detail::stage_report& s : stages) sum += s.busy;
  return sum;
}

double report::share(double some, std::size_t threads) const noexcept {
  if (taking <= 0 || threads == 0) return 0;
  return std::clamp(some / (taking * static_cast<double>(threads)), 0.0, 1.0);
}

std::string report::advice() const {
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

std::string report::to_string() const {
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
  if (filtered != 0) {
    out += std::to_string(filtered) + (filtered == 1 ? " sample was" : " samples were") +
           " left out by filter()\n";
  }
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

}  // namespace wick
