/// \file
/// The bodies of what trace/detail/trace_file.hpp declares. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <wick/run/detail/activity.hpp>
#include <wick/sample/error.hpp>
#include <wick/system/detail/json_string.hpp>
#include <wick/system/detail/plain_file.hpp>
#include <wick/system/detail/ticks.hpp>
#include <wick/trace/detail/trace_file.hpp>
#include <wick/trace/detail/trace_lane.hpp>

namespace wick::detail {

namespace {

constexpr std::uint64_t a_second = 1'000'000'000;
constexpr std::array<std::string_view, 3> part_names = {"decode", "resize", "color"};
constexpr std::array<std::string_view, wait_kinds> causes = {
    "what is not wick's", "an I/O thread", "a call on an I/O thread", "memory", "time", "a lock",
    "a channel",          "a worker"};
constexpr std::size_t end_bytes = 4096;  // kept free for what closes a file

std::uint64_t read_clock(::clockid_t which) noexcept {
  ::timespec t{};
  ::clock_gettime(which, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * a_second + static_cast<std::uint64_t>(t.tv_nsec);
}

}  // namespace

trace_file::trace_file(std::string path, const trace_options& options, trace_subject of)
    : path_(std::move(path)), options_(options), of_(std::move(of)) {
  if (options_.every == 0) throw error("trace: every is 0; 1 follows each sample, 10 one in ten");
  // A FIFO would be waited for.
  const int fd = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0666);
  if (fd < 0) throw error("trace: can't write " + printable(path_) + ": " + std::strerror(errno));
  file_ = file_handle(fd);
  struct ::stat there {};
  if (::fstat(fd, &there) == 0) {
    if (const char* const other = other_than_file(there.st_mode))
      throw error("trace: " + printable(path_) + " " + not_a_file(other));
  }
  // Two would write over each other. A file system that knows no locks is taken as it is.
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    throw error("trace: another trace is being written to " + printable(path_) +
                "; give each loader and each rank a file of its own");
  if (::ftruncate(fd, 0) != 0)
    throw error("trace: can't empty " + printable(path_) + ": " + std::strerror(errno));

  static std::atomic<std::uint64_t> loaders{0};
  const std::uint64_t loader = loaders.fetch_add(1, std::memory_order_relaxed) % 256;
  process_ = static_cast<std::uint64_t>(::getpid());
  first_thread_ = (std::uint64_t{1} << 30) + loader * tracks;  // above all that the system gives threads
  first_id_ = (loader + 1) << 44;
  named_.resize(tracks);
  for (const std::string& s : of_.stages) quoted_.push_back(json_string(s));

  const std::uint64_t wall = read_clock(CLOCK_REALTIME);
  constexpr std::uint64_t quarter = 7'889'238 * a_second;
  base_ = wall / quarter * quarter;
  offset_ = wall - base_ - read_clock(CLOCK_MONOTONIC);
  clocks_.push_back(now());
  begun_ = window_ = clocks_.front().ticks;
  every_ = options_.every;
  about("wick_trace_begins");
  text_.replace(0, 1, "[");
  name_thread(0, "wick: training loop", 0, false);
  for (std::size_t w = 0; w < of_.workers; ++w) name_thread(1 + w, "wick: worker ", w, true);
  flush();
  if (fault_ != 0) throw error("trace: can't write " + printable(path_) + ": " + std::strerror(fault_));
  for (std::size_t slot = 0; slot < of_.slots; ++slot)
    of_.lanes[slot].begin(slot < of_.workers ? 16'384 : 4'096, every_);
  following_ = true;
}

trace_file::pair trace_file::now() noexcept {
  pair best{};
  std::uint64_t least = ~std::uint64_t{0};
  for (int i = 0; i < 3; ++i) {
    const std::uint64_t before = now_ticks(), time = read_clock(CLOCK_MONOTONIC), after = now_ticks();
    if (after - before >= least) continue;
    least = after - before;
    best = {before + least / 2, time};
  }
  return best;
}

std::uint64_t trace_file::nanoseconds(std::uint64_t ticks) const noexcept {
  auto after = std::upper_bound(clocks_.begin() + 1, clocks_.end() - 1, ticks,
                                [](std::uint64_t t, const pair& p) { return t < p.ticks; });
  const pair &a = *(after - 1), &b = *after;
  const double slope =
      static_cast<double>(b.nanoseconds - a.nanoseconds) / static_cast<double>(b.ticks - a.ticks);
  const double passed = static_cast<double>(static_cast<std::int64_t>(ticks - a.ticks)) * slope;
  return offset_ + a.nanoseconds + static_cast<std::uint64_t>(static_cast<std::int64_t>(passed));
}

void trace_file::iteration(std::uint64_t step, std::uint64_t wait, std::uint64_t now) noexcept {
  if (!following_) return;
  try {
    iterations_.push_back({std::max(step, begun_), std::max(wait, begun_), now});
  } catch (...) {
    ++left_out_;
  }
}

void trace_file::took(const traced_batch& b) noexcept {
  if (!following_ || b.opened < begun_) return;
  try {
    batches_.push_back(b);
  } catch (...) {
    ++left_out_;
  }
}

std::uint64_t trace_file::look(const queue_depths& d) noexcept {
  const std::uint64_t begun = now_ticks();
  if (!following_ || begun < next_ || born_.elsewhere()) return 0;
  try {
    drain(&d);
  } catch (...) {  // no memory
    ++left_out_;
    text_.clear();
  }
  const std::uint64_t ended = now_ticks();
  next_ = ended + std::max<std::uint64_t>(40 * (ended - begun), 10'000'000);  // some milliseconds
  return ended - begun;
}

void trace_file::end() noexcept {
  if (std::exchange(ended_, true)) return;
  if (born_.elsewhere()) return;  // the parent's file
  const bool followed = following_;
  stop_following();
  try {
    if (followed && fault_ == 0) drain(nullptr);
    if (fault_ == 0) about("wick_trace_ends");
  } catch (...) {  // without it, then
    text_.clear();
  }
  if (fault_ == 0) flush();
  ::flock(file_.get(), LOCK_UN);  // a forked child may still have the file
  if (!file_.close() && fault_ == 0) fault_ = errno;
}

void trace_file::stop_following() noexcept {
  following_ = false;
  for (std::size_t slot = 0; slot < of_.slots; ++slot) of_.lanes[slot].end();
}

std::string trace_file::note() const {
  if (fault_ != 0)
    return "trace: " + printable(path_) + " can't be written: " + std::strerror(fault_) + "; it ends after " +
           std::to_string(events_) + " events";
  if (full_)
    return "trace: " + printable(path_) + " has reached its limit of " + std::to_string(options_.max_bytes) +
           " bytes; what came behind is left out";
  return {};
}

void trace_file::drain(const queue_depths* d) {
  spans_.clear();
  for (std::size_t slot = 0; slot < of_.slots; ++slot) {
    of_.lanes[slot].read([&](const trace_span& s) {
      if (s.begun >= begun_) spans_.push_back({s, slot});
    });
  }
  const pair read = now();
  if (read.ticks <= clocks_.back().ticks) return;
  clocks_.push_back(read);
  if (clocks_.size() == 65'536) clocks_.erase(clocks_.begin() + 1, clocks_.begin() + 32'768);
  // What goes on is not shown to where its beginning is not: a worker may write that only after another has
  // gone on, and when the trace has ended by then.
  if (flows_.size() > 1'000'000) flows_.clear();
  for (const laid_out& s : spans_) {
    if (s.span.first) flows_.push_back(id_of(s.span));
  }
  std::sort(flows_.begin(), flows_.end());
  for (const laid_out& s : spans_) span(s.span, s.slot);
  std::erase_if(flows_, [&, ended = ended_flows()](std::uint64_t id) {
    return std::binary_search(ended.begin(), ended.end(), id);
  });
  for (const iteration_times& i : iterations_) {
    if (i.step < i.wait) complete("\"step\"", "loop", 0, nanoseconds(i.step), nanoseconds(i.wait));
    complete("\"waiting\"", "loop", 0, nanoseconds(i.wait), nanoseconds(i.end));
  }
  for (const traced_batch& b : batches_) batch(b);
  iterations_.clear();
  batches_.clear();
  if (d != nullptr) {
    const std::uint64_t at = offset_ + read.nanoseconds;
    counter("batches ready", at, d->ready);
    counter("samples in flight", at, d->samples);
    counter("bytes in flight", at, d->bytes);
  }
  choose_every(spans_.size(), read.nanoseconds);
  if (full()) {  // all that came since the last time, or nothing of it
    full_ = true;
    left_out_ += spans_.size();
    text_.clear();
  }
  flush();
  if (full_ || fault_ != 0) stop_following();
}

/// So that there are some 20,000 spans a second at most.
void trace_file::choose_every(std::uint64_t spans, std::uint64_t now) noexcept {
  constexpr double most = 20'000;
  if (in_window_ == 0) window_ = std::min(clocks_[clocks_.size() - 2].nanoseconds, now);
  in_window_ += spans;
  std::uint64_t dropped = 0;
  for (std::size_t slot = 0; slot < of_.slots; ++slot)
    dropped += of_.lanes[slot].dropped() + of_.lanes[slot].left_out();
  const bool overflown = dropped != std::exchange(dropped_, dropped);
  const double seconds = 1e-9 * static_cast<double>(now - window_);
  if (!overflown && seconds < 0.25) return;
  const double rate = static_cast<double>(std::exchange(in_window_, 0)) / std::max(seconds, 0.01);
  const double factor = std::max(rate / most, overflown ? 2.0 : 0.0);
  if (factor > 1.5)
    every_ = static_cast<std::uint32_t>(std::min(1e9, static_cast<double>(every_) * factor + 1));
  else if (factor < 0.3)
    every_ = std::max(options_.every, every_ / 2);
  for (std::size_t slot = 0; slot < of_.slots; ++slot) of_.lanes[slot].follow(every_);
}

void trace_file::span(const trace_span& s, std::size_t slot) {
  const std::uint64_t tid = s.kind == span_kind::call ? io_tracks + s.thread % io_tracks : 1 + slot;
  if (s.kind == span_kind::call) name_thread(tid, "wick: I/O thread ", s.thread, true);
  if (slot >= of_.workers) name_thread(1 + slot, "wick: loop that helps ", slot - of_.workers, true);
  const std::uint64_t begun = nanoseconds(s.begun), ended = nanoseconds(s.ended);
  const std::string& name = quoted_[s.row];
  const auto place_of_it = [&] {
    if (s.kind == span_kind::batch) {
      number(",\"args\":{\"batch\":", s.position);
    } else {
      number(",\"args\":{\"position\":", s.position);
    }
    number(",\"epoch\":", s.epoch);
  };
  if (s.kind == span_kind::wait) {
    async('b', name, "wait", id_of(s), begun);
    place_of_it();
    text_ += ",\"mostly_for\":\"";
    text_ += causes[s.cause];
    text_ += "\"}}";
    async('e', name, "wait", id_of(s), ended);
    text_ += '}';
    return;
  }
  complete(name,
           s.kind == span_kind::batch  ? "batch stage"
           : s.kind == span_kind::call ? "call"
                                       : "stage",
           tid, begun, ended);
  text_.pop_back();
  place_of_it();
  if (s.first) {
    number(",\"index\":", s.index);
    try {
      text_ += ",\"key\":" + json_string(of_.key(of_.source, s.index));
    } catch (...) {  // the source has fewer samples by now
    }
  }
  for (std::size_t p = 0; p < s.parts.size(); ++p) {
    if (s.parts[p] == 0) continue;
    text_ += ",\"";
    text_ += part_names[p];
    number("_ns\":", nanoseconds(s.begun + s.parts[p]) - begun);
  }
  text_ += "}}";
  if (s.kind == span_kind::batch || !flows(s)) return;
  // Inside of the span, and of no other that is in it.
  const std::uint64_t at = begun + std::min<std::uint64_t>((ended - begun) / 2, 50);
  flow(s.first ? 's' : s.row == of_.last && s.kind == span_kind::work ? 'f' : 't', s, tid, at);
}

bool trace_file::flows(const trace_span& s) const noexcept {
  return std::binary_search(flows_.begin(), flows_.end(), id_of(s));
}

std::vector<std::uint64_t> trace_file::ended_flows() const {
  std::vector<std::uint64_t> out;
  for (const laid_out& s : spans_) {
    if (s.span.kind == span_kind::work && s.span.row == of_.last) out.push_back(id_of(s.span));
  }
  std::sort(out.begin(), out.end());
  return out;
}

void trace_file::batch(const traced_batch& b) {
  const std::uint64_t id = first_id_ + b.sequence, opened = nanoseconds(b.opened),
                      published = nanoseconds(std::clamp(b.published, b.opened, b.taken)),
                      taken = nanoseconds(b.taken);
  async('b', "\"batch\"", "batch", id, opened);
  number(",\"args\":{\"epoch\":", b.epoch);
  number(",\"batch\":", b.number);
  number(",\"samples\":", b.samples);
  text_ += "}}";
  const auto part = [&](std::string_view name, std::uint64_t begun, std::uint64_t ended) {
    async('b', name, "batch", id, begun);
    text_ += '}';
    async('e', name, "batch", id, ended);
    text_ += '}';
  };
  part("\"being made\"", opened, published);
  part("\"ready\"", published, taken);
  async('e', "\"batch\"", "batch", id, taken);
  text_ += '}';
}

std::uint64_t trace_file::id_of(const trace_span& s) const noexcept {
  constexpr std::uint64_t most = (std::uint64_t{1} << 44) - 1;
  return first_id_ + ((s.epoch * of_.positions + s.position) & most);
}

bool trace_file::full() const noexcept {
  return written_ + text_.size() + end_bytes > std::max<std::size_t>(options_.max_bytes, 2 * end_bytes);
}

bool trace_file::write_at(std::uint64_t at, std::string_view text) noexcept {
  while (!text.empty()) {
    const ::ssize_t n = ::pwrite(file_.get(), text.data(), text.size(), static_cast<::off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      fault_ = n < 0 ? errno : ENOSPC;
      return false;
    }
    at += static_cast<std::uint64_t>(n);
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

/// Over the closing bracket, and then another. Nothing of what can't be written as a whole stays.
void trace_file::flush() noexcept {
  constexpr std::string_view bracket = "\n]\n";
  const std::size_t more = text_.size();
  if (more == 0) return;
  try {
    text_ += bracket;
  } catch (...) {  // left out
    ++left_out_;
    text_.clear();
    return;
  }
  if (write_at(written_, text_)) {
    written_ += more;
  } else if (const int fault = fault_; written_ != 0) {
    // Where it stood there is still room for it.
    if (write_at(written_, bracket) &&
        ::ftruncate(file_.get(), static_cast<::off_t>(written_ + bracket.size())) != 0)
      fault_ = errno;
    fault_ = fault;
  }
  text_.clear();
}

}  // namespace wick::detail
