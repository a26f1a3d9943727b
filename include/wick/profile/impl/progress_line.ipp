// Implements profile/detail/progress_line.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utility>

#include <wick/base/detail/launch.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/profile/detail/progress_line.hpp>

namespace wick::inline v0_1::detail {

// ---- text ----

/// Bytes of the printable UTF-8 character at the beginning of a text; 0: there is none.
inline std::size_t printable_utf8(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7F ? 1 : 0;
  const std::size_t n = first >= 0xF0 && first < 0xF5   ? 4
                        : first >= 0xE0 && first < 0xF0 ? 3
                        : first >= 0xC2 && first < 0xE0 ? 2
                                                        : 0;
  if (n == 0 || n > text.size()) return 0;
  for (std::size_t i = 1; i < n; ++i) {
    if ((byte(i) & 0xC0u) != 0x80) return 0;
  }
  const unsigned second = byte(1);
  if (first == 0xC2 && second < 0xA0) return 0;  // C1: some terminals treat them as escape sequences
  if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second >= 0xA0))
    return 0;  // overlong, surrogates
  if ((first == 0xF0 && second < 0x90) || (first == 0xF4 && second >= 0x90)) return 0;
  if (first == 0xE2 && (second == 0x80 || second == 0x81)) {  // line ends and direction marks
    const unsigned third = byte(2);
    if ((second == 0x80 && third >= 0xA8 && third <= 0xAE) || (second == 0x81 && third >= 0xA6)) return 0;
  }
  return n;
}

std::string progress_description(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t n = printable_utf8(text);
    out += n == 0 ? std::string_view("?") : text.substr(0, n);
    text.remove_prefix(std::max<std::size_t>(n, 1));
  }
  return out;
}

std::string_view cut_utf8(std::string_view text, std::size_t most) noexcept {
  if (text.size() <= most) return text;
  while (most != 0 && (static_cast<unsigned char>(text[most]) & 0xC0u) == 0x80) --most;
  return text.substr(0, most);
}

/// "01:23", "1:02:03"; "?" if unknown.
inline std::string progress_time(double seconds) {
  if (!(seconds >= 0) || seconds > 1e9) return "?";
  const auto s = static_cast<unsigned long long>(seconds);
  char out[48];
  if (s >= 3600)
    std::snprintf(out, sizeof out, "%llu:%02llu:%02llu", s / 3600, s / 60 % 60, s % 60);
  else
    std::snprintf(out, sizeof out, "%02llu:%02llu", s / 60, s % 60);
  return out;
}

std::string format_rate(double rate) {
  if (!(rate >= 0) || rate > 1e15) return "?";
  const char* const units[] = {"", "k", "M", "G", "T"};
  std::size_t unit = 0;
  while (rate >= 999.5 && unit < 4) {
    rate /= 1000;
    ++unit;
  }
  char out[32];
  std::snprintf(out, sizeof out,
                rate < 9.995   ? "%.2f%s"
                : rate < 99.95 ? "%.1f%s"
                               : "%.0f%s",
                rate, units[unit]);
  return out;
}

std::string progress_text(std::string_view description, const progress_figures& f, std::size_t columns,
                          bool bar) {
  const double share =
      f.total == 0 ? 1 : std::min(1.0, static_cast<double>(f.done) / static_cast<double>(f.total));
  char percent[16];
  // Rounded down, so that 100% is the end.
  std::snprintf(percent, sizeof percent, "%3d%%", static_cast<int>(share * 100));
  std::string figures = std::to_string(f.done) + "/" + std::to_string(f.total) + " [" +
                        progress_time(f.elapsed) + "<" + progress_time(f.left) + ", " + format_rate(f.rate) +
                        " samples/s, ";
  figures +=
      f.waiting >= 0 ? std::to_string(static_cast<int>(std::lround(std::min(f.waiting, 1.0) * 100))) : "?";
  figures += "% waiting]";
  std::string out(description);
  if (!out.empty()) out += ": ";
  if (columns == 0) return out + percent + " " + figures;
  const std::size_t taken = out.size() + std::strlen(percent) + figures.size() + 3;
  constexpr std::size_t least_bar = 4;
  if (bar && taken + least_bar <= columns) {
    const std::size_t width = columns - taken;
    const auto full = static_cast<std::size_t>(share * static_cast<double>(width));
    out += percent;
    out += "|" + std::string(full, '#') + std::string(width - full, ' ') + "| " + figures;
    return out;
  }
  const std::size_t needed = std::strlen(percent) + 1 + figures.size();
  if (out.size() + needed > columns) {  // the figures matter more than the description
    std::string cut(cut_utf8(description, columns > needed + 2 ? columns - needed - 2 : 0));
    out = cut.empty() ? cut : cut + ": ";
  }
  out += percent;
  out += " " + figures;
  if (out.size() > columns) out = std::string(cut_utf8(out, columns));
  return out;
}

// ---- when, and how fast ----

void progress_rates::add(double seconds, double waited, std::uint64_t items, std::uint64_t samples) noexcept {
  const double passed = seconds - last_time_;
  if (!(passed > 0)) return;
  const double keep = std::max(std::exp(-passed / 10), 0.7);
  time_ = time_ * keep + passed;
  waited_ = waited_ * keep + std::max(0.0, waited - last_waited_);
  items_ = items_ * keep + static_cast<double>(items - std::min(items, last_items_));
  samples_ = samples_ * keep + static_cast<double>(samples - std::min(samples, last_samples_));
  last_time_ = seconds;
  last_waited_ = waited;
  last_items_ = items;
  last_samples_ = samples;
}

bool progress_schedule::due(double seconds, std::uint64_t done, std::uint64_t total) const noexcept {
  const double passed = seconds - last_;
  if (passed < least()) return false;
  return terminal_ || interval_ || passed >= 30 || tenths(done, total) > tenth_;
}
void progress_schedule::shown(double seconds, std::uint64_t done, std::uint64_t total) noexcept {
  last_ = seconds;
  tenth_ = tenths(done, total);
}
double progress_schedule::pause(double seconds) const noexcept {
  return std::max(0.0, last_ + least() - seconds);
}

// ---- the line ----

progress_line::progress_line(std::string_view description, int fd, std::optional<double> interval, bool shown)
    : description_(progress_description(description)),
      fd_(fd),
      interval_(interval),
      shown_(shown),
      terminal_(shown && ::isatty(fd) == 1),
      schedule_(false, std::nullopt) {
  if (terminal_) {
    const char* const kind = std::getenv("TERM");
    terminal_ = kind != nullptr && *kind != '\0' && std::strcmp(kind, "dumb") != 0;
  }
}

progress_line::~progress_line() { close(left_); }

void progress_line::require_not_negative(const char* option, std::int64_t given) {
  if (given >= 0) return;
  throw error(std::string("progress: .") + option + " is " + std::to_string(given) +
              "; it is at least 0, or left out");
}

bool progress_line::is_first_rank(std::optional<int> rank) {
  if (rank) {
    require_not_negative("rank", *rank);
    return *rank == 0;
  }
  try {
    return find_launch().rank == 0;
  } catch (...) {  // out of memory
    return true;
  }
}

void progress_line::begin(progress_left left) noexcept {
  under_way_ = true;
  scale_ = tick_scale();
  schedule_ = progress_schedule(terminal_, interval_);
  rates_ = {};
  done_ = waited_ = looked_ = pause_ = 0;
  at_first_ = left_ = left;
  if (terminal_ && left.items != 0) show(0, false);
}

void progress_line::look() noexcept {
  const double seconds = scale_.elapsed();
  if (schedule_.due(seconds, done_, done_ + left_.items)) show(seconds, false);
  // Until a tick's length is known, look at the clock more often.
  const double tick = seconds > 1e-3 ? scale_.seconds_per_tick() : 0;
  looked_ = now_ticks();
  const double pause = tick > 0 ? std::min(schedule_.pause(seconds) / tick, 1e18) : 0;
  pause_ = static_cast<std::uint64_t>(pause);
}

void progress_line::close(progress_left left) noexcept {
  if (!std::exchange(under_way_, false)) return;
  left_ = left;
  if (done_ != 0)
    show(scale_.elapsed(), true);
  else
    clear();
}

progress_figures progress_line::figures(double seconds, bool of_all) noexcept {
  const double waited = static_cast<double>(waited_) * scale_.seconds_per_tick();
  const std::uint64_t samples = left_.samples - at_first_.samples;
  rates_.add(seconds, waited, done_, samples);
  progress_figures f;
  f.done = done_;
  f.total = done_ + left_.items;
  f.elapsed = seconds;
  if (done_ == 0) return f;
  f.left = rates_.items() > 0 ? static_cast<double>(left_.items) / rates_.items() : -1;
  f.rate = of_all && seconds > 0 ? static_cast<double>(samples) / seconds : rates_.samples();
  f.waiting = of_all && seconds > 0 ? waited / seconds : rates_.waiting();
  return f;
}

void progress_line::show(double seconds, bool last) noexcept {
  schedule_.shown(seconds, done_, done_ + left_.items);
  try {
    const progress_figures f = figures(seconds, last);
    if (terminal_) {
      // A text as wide as the terminal would put the cursor on the next line.
      const std::size_t wide = columns();
      std::string text = "\r";
      if (wide > 1) text += progress_text(description_, f, wide - 1, true);
      text += last ? "\x1b[K\n" : "\x1b[K";
      drawn_ = !last;
      write(text);
    } else {
      write(progress_text(description_, f, 0, false) + "\n");
    }
  } catch (...) {  // out of memory: training continues
  }
}

void progress_line::print(std::string_view text) noexcept {
  const bool again = drawn_;
  clear();
  write(text);
  if (text.empty() || text.back() != '\n') write("\n");
  if (again) show(scale_.elapsed(), false);
}

void progress_line::clear() noexcept {
  if (std::exchange(drawn_, false)) write("\r\x1b[K");
}

std::size_t progress_line::columns() const noexcept {
  winsize size{};
  if (::ioctl(fd_, TIOCGWINSZ, &size) == 0 && size.ws_col != 0) return size.ws_col;
  if (const char* const told = std::getenv("COLUMNS")) {
    if (const int n = std::atoi(told); n > 0) return static_cast<std::size_t>(n);
  }
  return 80;
}

/// Ignores failed writes: they must not end a training run.
void progress_line::write(std::string_view text) noexcept {
  const int before = errno;
  for (int tries = 0; !text.empty() && tries < 100;) {
    const ssize_t n = ::write(fd_, text.data(), text.size());
    if (n >= 0) {
      text.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      pollfd there{fd_, POLLOUT, 0};
      ::poll(&there, 1, 10);
      ++tries;
    } else if (errno != EINTR) {
      shown_ = false;
      break;
    }
  }
  errno = before;
}

}  // namespace wick::detail
