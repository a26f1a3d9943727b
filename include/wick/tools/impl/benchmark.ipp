/// \file
/// The bodies of what tools/benchmark.hpp and tools/detail/isolated_counts.hpp declare. Included in exactly
/// one file of a program.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <wick/base/detail/clock.hpp>
#include <wick/failures/failure_log.hpp>
#include <wick/profile/detail/progress_line.hpp>
#include <wick/profile/report.hpp>
#include <wick/tools/benchmark.hpp>
#include <wick/tools/detail/isolated_counts.hpp>

namespace wick::inline v0_1 {

namespace detail {

double isolated_counts::first_batch() const noexcept {
  const std::uint64_t at = first_batch_.load(std::memory_order_relaxed);
  if (at == 0) return -1;
  return at < begun_ ? 0 : static_cast<double>(at - begun_) * scale_.seconds_per_tick();
}

double isolated_counts::watch(double seconds, double& patience) const {
  const auto pause = [](double time) {
    if (time > 0) std::this_thread::sleep_for(std::chrono::duration<double>(time));
  };
  while (ended() == 0 && scale_.elapsed() < patience) pause(0.0005);
  patience -= std::min(patience, scale_.elapsed());
  pause(0.2 * seconds);  // until as much is under way as can be
  const double begun = scale_.elapsed();
  const std::uint64_t before = good();
  pause(0.8 * seconds);
  const std::uint64_t after = good();
  const double passed = scale_.elapsed() - begun;
  return after == before || passed <= 0 ? -1 : static_cast<double>(after - before) / passed;
}

double isolated_counts::of_all() const noexcept {
  const double passed = scale_.elapsed();
  return passed > 0 ? static_cast<double>(good()) / passed : 0;
}

void isolated_failures::add(failure_log_entry e) noexcept {
  const std::lock_guard lock(mutex_);
  ++count_;
  const auto same = [&](const failure_log_entry& other) {
    return other.key == e.key && other.stage == e.stage;
  };
  if (e.key.empty() || entries_.size() == most || std::any_of(entries_.begin(), entries_.end(), same)) return;
  try {
    entries_.push_back(std::move(e));
  } catch (...) {  // it is counted
  }
}

const failure_log_entry* isolated_failures::of_batches() const noexcept {
  for (const failure_log_entry& e : entries_) {
    if (e.kind == error_kind::shape || e.kind == error_kind::batch) return &e;
  }
  return nullptr;
}

/// Text in lines of at most 80 columns, as far as its words allow.
inline std::string in_lines(std::string_view text) {
  std::string out;
  for (std::size_t most = 80; text.size() > most; most = 78) {
    std::size_t at = text.rfind(' ', most);
    if (at == std::string_view::npos || at < 3) at = text.find(' ', most);
    if (at == std::string_view::npos) break;
    out += text.substr(0, at);
    out += "\n  ";
    text.remove_prefix(at + 1);
  }
  out += text;
  out += '\n';
  return out;
}

}  // namespace detail

std::string benchmark_result::to_string() const {
  const auto rate = [](const std::optional<double>& r) {
    return r ? detail::format_rate(*r) : std::string("-");
  };
  std::string text = "without a training step: " + detail::format_rate(samples) + " samples/s";
  if (batches > 0) text += ", " + detail::format_rate(batches) + " batches/s";
  if (bytes > 0) text += ", " + detail::format_rate(bytes) + "B/s";
  if (first_batch) text += ", the first batch after " + detail::format_duration(*first_batch);
  std::string out = detail::in_lines(text);
  text = "measured for " + detail::format_duration(seconds) + " on " + std::to_string(workers) +
         " workers, " + std::to_string(io_threads) + " I/O threads";
  if (in_flight != 0) text += ", " + std::to_string(in_flight) + " samples at a time";
  out += detail::in_lines(text);
  constexpr std::size_t name_width = 30;
  char line[160];
  const auto row = [&](std::string name, const std::string& a, const std::string& b, const std::string& c) {
    if (name.size() > name_width) name = std::string(detail::cut_utf8(name, name_width - 1)) + "~";
    std::snprintf(line, sizeof line, "  %-*s %14s %14s %14s\n", static_cast<int>(name_width), name.c_str(),
                  a.c_str(), b.c_str(), c.c_str());
    out += line;
  };
  row("samples/s", "up to it", "if cached", "without it");
  for (const detail::benchmark_stage& s : stages) row(s.name, rate(s.up_to), rate(s.cached), rate(s.without));
  for (const std::string& note : notes) out += detail::in_lines("note: " + note);
  if (failures != 0) {
    out += "failed: " + std::to_string(failures) + " times; the first:\n";
    for (const failure_log_entry& e : failed)
      out += detail::in_lines("  " + e.key + ": " + e.stage + e.written + ": " + e.text);
  }
  return out;
}

}  // namespace wick
