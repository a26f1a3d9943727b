// Implements profile/report.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>

#include <wick/profile/detail/advice.hpp>
#include <wick/profile/report.hpp>

namespace wick::inline v0_1::detail {

std::string format_duration(double seconds) {
  struct unit {
    double seconds;
    const char* name;
  };
  constexpr unit units[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}, {1e-9, "ns"}};
  if (!std::isfinite(seconds) || seconds <= 0) return "0 s";
  const unit* u = units;
  while (u != units + 3 && seconds < 0.9995 * u->seconds) ++u;
  const double n = seconds / u->seconds;
  char text[32];
  std::snprintf(text, sizeof(text), "%.*f %s",
                n >= 99.95 || u == units + 3 ? 0
                : n >= 9.995                 ? 1
                                             : 2,
                n, u->name);
  return text;
}

}  // namespace wick::detail

namespace wick::inline v0_1 {

double report::busy() const noexcept {
  double sum = 0;
  for (const report::stage& s : stages) sum += s.busy;
  return sum;
}

double report::share(double some, std::size_t threads) const noexcept {
  if (taking <= 0 || threads == 0) return 0;
  return std::clamp(some / (taking * static_cast<double>(threads)), 0.0, 1.0);
}

std::string report::advice() const { return detail::diagnose(*this).text; }

bool report::print_if_stalled(std::size_t rank) const {
  if (rank != 0 && !stalled()) return false;
  std::string text = to_string();
  if (rank != 0) text = "rank " + std::to_string(rank) + ": " + text;
  std::fputs(text.c_str(), stderr);
  return true;
}

}  // namespace wick

namespace wick::inline v0_1::detail {

/// Characters on a terminal; UTF-8's continuation bytes don't count.
std::size_t columns(std::string_view text) noexcept {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

/// Wraps words at 80 columns. `lead` comes first, and later lines are indented as far.
std::string wrapped(std::string_view lead, std::string_view text) {
  std::string out(lead);
  std::size_t at = columns(lead);
  const std::string indent(std::min<std::size_t>(at, 20), ' ');
  bool first = true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t n = columns(word);
    if (!first && at + 1 + n > 80) {
      out += '\n' + indent;
      at = indent.size();
    } else if (!first) {
      out += ' ';
      ++at;
    }
    out += word;
    at += n;
    first = false;
  }
  return out + '\n';
}

/// At most `most` columns, cut at the end.
std::string shortened(const std::string& name, std::size_t most) {
  if (columns(name) <= most) return name;
  std::string out;
  std::size_t n = 0;
  for (const char c : name) {
    if ((static_cast<unsigned char>(c) & 0xC0) != 0x80 && ++n >= most) break;
    out += c;
  }
  return out + "~";
}

/// A line of the table: the name on the left, the cells right-aligned.
std::string table_line(std::size_t width, const std::string& name, const std::string (&cells)[6]) {
  constexpr std::size_t widths[] = {9, 9, 7, 9, 9, 9};
  const auto blanks = [](std::size_t to, const std::string& text) {
    return std::string(to - std::min(to, columns(text)), ' ');
  };
  std::string out = "  " + name + blanks(width, name);
  for (std::size_t i = 0; i < 6; ++i) out += blanks(widths[i], cells[i]) + cells[i];
  return out + '\n';
}

report_lines::report_lines(const report& r) {
  char line[256];
  before.push_back({"", r.advice()});
  std::snprintf(line, sizeof(line), "%llu samples in %s (%.0f samples/s), %llu batches, %zu worker%s %s busy",
                static_cast<unsigned long long>(r.samples), format_duration(r.taking).c_str(),
                r.samples_per_second(), static_cast<unsigned long long>(r.batches), r.workers,
                r.workers == 1 ? "" : "s", format_percent(r.utilization()).c_str());
  std::string first = line;
  const double others = r.share(r.others, r.workers), helped = r.share(r.helped, 1);
  if (others > 0.005) first += ", " + format_percent(others) + " with other loaders";
  if (helped > 0.005) first += ", the waiting loop helps " + format_percent(helped) + " of its time";
  before.push_back({"", first});
  if (r.taking > 0 && r.processor > 0) {
    std::snprintf(line, sizeof(line), "%.2f of %zu used, %.2f by workers, %.2f by I/O threads",
                  r.processor / r.taking, r.cpus, r.worker_processor / r.taking, r.io_processor / r.taking);
    before.push_back({"CPUs: ", line});
  }
  std::string why;
  const auto add = [&](double some, const char* what) {
    if (r.share(some, r.workers) < 0.01) return;
    why += (why.empty() ? "" : ", ") + format_percent(r.share(some, r.workers)) + " " + what;
  };
  add(r.idle.samples, "all samples wait");
  add(r.idle.order, "the oldest batch is not ready");
  add(r.idle.loop, "enough batches are ready");
  if (!why.empty()) before.push_back({"idle workers: ", why});
  std::snprintf(line, sizeof(line), "mean %s, median %s of %llu iterations",
                format_percent(r.wait_mean).c_str(), format_percent(r.wait_median).c_str(),
                static_cast<unsigned long long>(r.iterations));
  std::string wait = line;
  if (r.iterations != 0) {
    wait += "; " + format_duration(r.waiting.mean) + " of " + format_duration(r.iteration.mean) + ", p99 " +
            format_duration(r.waiting.p99) + " of " + format_duration(r.iteration.p99);
  }
  after.push_back({"waiting for data: ", wait});
  if (r.filtered != 0) {
    after.push_back({"", std::to_string(r.filtered) + (r.filtered == 1 ? " sample was" : " samples were") +
                             " left out by filter()"});
  }
  if (r.failures != 0 || !r.outcomes.empty()) {
    std::string failed =
        std::to_string(r.failures) + (r.failures == 1 ? " sample failed" : " samples failed");
    for (std::size_t i = 0; i < r.outcomes.size(); ++i) {
      const report::outcome& o = r.outcomes[i];
      failed +=
          (i == 0 ? " (" : ", ") + o.stage + ": " + std::to_string(o.count) + " " + std::string(o.outcome);
    }
    after.push_back(
        {"", failed + (r.outcomes.empty() ? "; see loader.failure_log(), in Python loader.failures"
                                          : "); see loader.failure_log(), in Python loader.failures")});
  }
  for (const std::string& n : r.notes) after.push_back({"note: ", n});
}

}  // namespace wick::detail

namespace wick::inline v0_1 {

std::string report::to_string() const {
  using detail::format_duration;
  using detail::format_percent;
  const detail::report_lines lines(*this);
  std::string out;
  for (const auto& [lead, text] : lines.before) out += detail::wrapped(lead, text);
  std::size_t width = 5;
  for (const report::stage& s : stages) width = std::max(width, detail::columns(s.name));
  width = std::min<std::size_t>(width, 26);
  out += detail::table_line(width, "stage", {"count", "busy", "share", "median", "p99", "waited"});
  const double all = busy();
  for (const report::stage& s : stages) {
    const double part = all > 0 ? s.busy / all : 0;
    // Show nanoseconds only for a stage with a share of the work.
    const auto time = [&](double t) {
      return t <= 0 || (t < 0.9995e-6 && part < 0.01) ? "-" : format_duration(t);
    };
    out += detail::table_line(
        width, detail::shortened(s.name, width),
        {s.count < 100'000'000 ? std::to_string(s.count) : std::to_string(s.count / 1'000'000) + "M",
         time(s.busy), format_percent(part), time(s.median), time(s.p99), time(s.blocked)});
  }
  for (const auto& [lead, text] : lines.after) out += detail::wrapped(lead, text);
  return out;
}

}  // namespace wick
