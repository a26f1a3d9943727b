/// \file
/// The bodies of what observe/report.hpp declares. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

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

std::string report::advice() const { return detail::diagnose(*this).text; }

bool report::print_if_stalled(std::size_t rank) const {
  if (rank != 0 && !stalled()) return false;
  std::string text = to_string();
  if (rank != 0) text = "rank " + std::to_string(rank) + ": " + text;
  std::fputs(text.c_str(), stderr);
  return true;
}

}  // namespace wick

namespace wick::detail {

/// Characters on a terminal: UTF-8's continuation bytes are none.
std::size_t columns(std::string_view text) noexcept {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

/// Words in lines of at most 80 columns, the first after `lead`, the others as far in.
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

/// At most so many columns, the middle being left out.
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

}  // namespace wick::detail

namespace wick {

std::string report::to_string() const {
  using detail::format_duration;
  using detail::format_percent;
  char line[256];
  std::string out;
  std::snprintf(line, sizeof(line), "%llu samples in %s (%.0f samples/s), %llu batches, %zu worker%s %s busy",
                static_cast<unsigned long long>(samples), format_duration(taking).c_str(),
                samples_per_second(), static_cast<unsigned long long>(batches), workers,
                workers == 1 ? "" : "s", format_percent(utilization()).c_str());
  std::string first = line;
  if (share(others, workers) > 0.005)
    first += ", with other loaders " + format_percent(share(others, workers));
  if (share(helped, 1) > 0.005)
    first += ", the waiting loop helps " + format_percent(share(helped, 1)) + " of its time";
  out += detail::wrapped("", first);
  if (taking > 0 && processor > 0) {
    std::snprintf(line, sizeof(line), "%.2f of %zu in use, %.2f by workers, %.2f by I/O threads",
                  processor / taking, cpus, worker_processor / taking, io_processor / taking);
    out += detail::wrapped("processors: ", line);
  }
  const double idles = idle.samples + idle.order + idle.loop;
  if (idles > 0.01 * taking * static_cast<double>(workers)) {
    std::string why;
    const auto add = [&](double some, const char* what) {
      if (share(some, workers) < 0.01) return;
      why += (why.empty() ? "" : ", ") + format_percent(share(some, workers)) + " " + what;
    };
    add(idle.samples, "samples wait");
    add(idle.order, "the oldest batch is not ready");
    add(idle.loop, "the loop has not taken what is ready");
    if (!why.empty()) out += detail::wrapped("workers without work: ", why);
  }
  std::size_t width = 5;
  for (const detail::stage_report& s : stages) width = std::max(width, detail::columns(s.name));
  width = std::min<std::size_t>(width, 22);
  std::snprintf(line, sizeof(line), "  %-*s %8s %9s %6s %9s %9s %9s\n", static_cast<int>(width), "stage",
                "count", "busy", "share", "median", "p99", "waited");
  out += line;
  const double all = busy();
  for (const detail::stage_report& s : stages) {
    std::string name = detail::shortened(s.name, width);
    name.append(width - std::min(width, detail::columns(name)), ' ');
    const std::string count =
        s.count < 100'000'000 ? std::to_string(s.count) : std::to_string(s.count / 1'000'000) + "M";
    std::snprintf(line, sizeof(line), " %8s %9s %6s %9s %9s %9s\n", count.c_str(),
                  format_duration(s.busy).c_str(), format_percent(all > 0 ? s.busy / all : 0).c_str(),
                  s.median > 0 ? format_duration(s.median).c_str() : "-",
                  s.p99 > 0 ? format_duration(s.p99).c_str() : "-",
                  s.blocked > 0 ? format_duration(s.blocked).c_str() : "-");
    out += "  " + name + line;
  }
  std::snprintf(line, sizeof(line), "mean %s, median %s of %llu iterations",
                format_percent(wait_mean).c_str(), format_percent(wait_median).c_str(),
                static_cast<unsigned long long>(iterations));
  std::string wait = line;
  if (iterations != 0) {
    wait += "; " + format_duration(waiting.mean) + " of " + format_duration(iteration.mean) + ", p99 " +
            format_duration(waiting.p99) + " of " + format_duration(iteration.p99);
  }
  out += detail::wrapped("waiting for data: ", wait);
  if (filtered != 0) {
    out += std::to_string(filtered) + (filtered == 1 ? " sample was" : " samples were") +
           " left out by filter()\n";
  }
  if (failures != 0 || !outcomes.empty()) {
    std::string failed = std::to_string(failures) + (failures == 1 ? " sample failed" : " samples failed");
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      failed += (i == 0 ? " (" : ", ") + outcomes[i].stage + ": " + std::to_string(outcomes[i].count) + " " +
                std::string(outcomes[i].outcome);
    }
    out +=
        detail::wrapped("", failed + (outcomes.empty() ? "; see loader.ledger()" : "); see loader.ledger()"));
  }
  for (const std::string& n : notes) out += detail::wrapped("note: ", n);
  return out + detail::wrapped("", advice());
}

}  // namespace wick
