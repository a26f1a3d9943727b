// Implements profile/detail/trace_file.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <utility>

#include <wick/base/detail/ticks.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/profile/detail/trace_file.hpp>
#include <wick/profile/impl/trace_text.ipp>

namespace wick::inline v0_1::detail {

namespace {

constexpr std::uint64_t a_second = 1'000'000'000;
constexpr std::string_view closing = "\n]\n";
constexpr std::size_t end_bytes = 512;    // reserved for the last event and the bracket
constexpr std::size_t a_write = 1 << 20;  // bytes
// Iterations that are followed in a fifth of a second at first. With more, one in two, one in four, …
constexpr std::uint64_t most_loops = 200;

std::uint64_t read_clock(::clockid_t which) noexcept {
  ::timespec t{};
  ::clock_gettime(which, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * a_second + static_cast<std::uint64_t>(t.tv_nsec);
}

/// \throws wick::error
file_handle open_trace(const std::string& path) {
  const auto refuse = [&](const char* what) {
    throw error("trace: can't " + std::string(what) + " " + printable(path) + ": " + std::strerror(errno));
  };
  // Without O_NONBLOCK, a FIFO would wait for a reader.
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0666);
  if (fd < 0) refuse("write");
  file_handle file(fd);
  struct ::stat about {};
  if (::fstat(fd, &about) != 0) refuse("look at");
  if (const char* const other = other_than_file(about.st_mode))
    throw error("trace: " + printable(path) + " " + not_a_file(other));
  // On a file system without locks, two traces may overwrite each other.
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    throw error("trace: another trace is being written to " + printable(path) +
                "; give each loader and each rank a file of its own");
  if (::ftruncate(fd, 0) != 0) refuse("empty");
  return file;
}

}  // namespace

trace_file::trace_file(std::string path, const trace_options& options, trace_subject of)
    : path_(std::move(path)), options_(options), of_(std::move(of)), every_(options.every) {
  if (every_ == 0) throw error("trace: every is 0; 1 follows each sample, 10 one in ten");
  // Other traces of the process may share a viewer with this one, so threads and samples have unique numbers.
  static std::atomic<std::uint64_t> traces{0};
  const std::uint64_t number = traces.fetch_add(1, std::memory_order_relaxed) % 256;
  process_ = static_cast<std::uint64_t>(::getpid());
  first_thread_ = (std::uint64_t{1} << 30) + number * tracks;  // above the system's thread ids
  first_id_ = (number + 1) << 44;
  for (const std::string& stage : of_.stages) names_.push_back(escaped(stage));

  constexpr std::uint64_t quarter = 7'889'238 * a_second;
  const std::uint64_t wall = read_clock(CLOCK_REALTIME);
  base_ = wall / quarter * quarter;
  offset_ = wall - base_ - read_clock(CLOCK_MONOTONIC);
  clocks_.push_back(read_clocks());
  begun_ = clocks_.front().ticks;
  window_ = clocks_.front().nanoseconds;

  begin_about("wick_trace_begins");
  text_ += "}}";
  text_.front() = '[';  // in place of a comma
  name_track(0, "training loop");
  for (std::size_t slot = 0; slot < of_.slots; ++slot) {
    const bool helps = slot >= of_.workers;
    name_track(1 + slot,
               (helps ? "loop that helps " : "worker ") + std::to_string(helps ? slot - of_.workers : slot));
  }
  name_io_threads(of_.io_threads);
  if (text_.size() + end_bytes > options_.max_bytes)
    throw error("trace: max_bytes is " + std::to_string(options_.max_bytes) +
                "; the least for this loader is " + std::to_string(text_.size() + end_bytes));

  for (std::size_t slot = 0; slot < of_.slots; ++slot)
    of_.lanes[slot].prepare(slot < of_.workers ? 16'384 : 4'096);
  file_ = open_trace(path_);
  flush();
  if (fault_ != 0) throw error("trace: can't write " + printable(path_) + ": " + std::strerror(fault_));
  dropped_before_ = dropped();
  for (std::size_t slot = 0; slot < of_.slots; ++slot) of_.lanes[slot].begin(every_);
  following_ = true;
}

trace_file::reading trace_file::read_clocks() noexcept {
  reading best{};
  std::uint64_t least = ~std::uint64_t{0};
  for (int i = 0; i < 3; ++i) {
    const std::uint64_t before = now_ticks(), time = read_clock(CLOCK_MONOTONIC), after = now_ticks();
    if (after - before >= least) continue;
    least = after - before;
    best = {before + least / 2, time};
  }
  return best;
}

/// In the file's time. Keeps the order of ticks, so that spans nest as they did.
std::uint64_t trace_file::nanoseconds(std::uint64_t ticks) const noexcept {
  const auto after = std::upper_bound(clocks_.begin() + 1, clocks_.end() - 1, ticks,
                                      [](std::uint64_t t, const reading& r) { return t < r.ticks; });
  const reading &a = *(after - 1), &b = *after;
  const double slope =
      static_cast<double>(b.nanoseconds - a.nanoseconds) / static_cast<double>(b.ticks - a.ticks);
  const double passed = static_cast<double>(static_cast<std::int64_t>(ticks - a.ticks)) * slope;
  return offset_ + a.nanoseconds + static_cast<std::uint64_t>(static_cast<std::int64_t>(passed));
}

std::uint64_t trace_file::id_of(const trace_span& s) const noexcept {
  constexpr std::uint64_t most = (std::uint64_t{1} << 44) - 1;
  return first_id_ + ((s.epoch * of_.positions + s.position) & most);
}

std::uint64_t trace_file::dropped() const noexcept {
  std::uint64_t all = 0;
  for (std::size_t slot = 0; slot < of_.slots; ++slot) all += of_.lanes[slot].dropped();
  return all - dropped_before_;
}

void trace_file::iteration(std::uint64_t step, std::uint64_t wait, std::uint64_t now) noexcept {
  follows_batch_ = following_ && loops_++ % every_batch_ == 0;
  if (!follows_batch_) return;
  if (++loops_in_window_ > most_loops) {
    every_batch_ *= 2;
    loops_in_window_ = 0;
  }
  try {
    iterations_.push_back({std::max(step, begun_), std::max(wait, begun_), now});
  } catch (...) {  // out of memory: leave it out of the trace
  }
}

void trace_file::took(const traced_batch& b) noexcept {
  if (!follows_batch_ || b.opened < begun_) return;
  try {
    batches_.push_back(b);
  } catch (...) {  // out of memory: leave it out of the trace
  }
}

std::uint64_t trace_file::look(queue_depths depths) noexcept {
  if (!following_ || read_clock(CLOCK_MONOTONIC) < next_ || born_.elsewhere()) return 0;
  const reading begun = read_clocks();
  try {
    drain(&depths);
  } catch (...) {  // out of memory: leave it out of the trace
    text_.clear();
  }
  const reading ended = read_clocks();
  const std::uint64_t took = ended.nanoseconds - begun.nanoseconds;
  next_ = ended.nanoseconds + std::clamp(100 * took, a_second / 300, a_second / 4);
  return ended.ticks - begun.ticks;
}

void trace_file::end() noexcept {
  if (!file_ || born_.elsewhere()) return;  // in a forked child, it is the parent's file
  const bool followed = following_;
  stop_following();
  if (fault_ == 0) {
    try {
      if (followed) drain(nullptr);
      begin_about("wick_trace_ends");
      put(text_, ",\"one_in\":", every_, ",\"batches_one_in\":", every_batch_, ",\"dropped\":", dropped(),
          full_ ? ",\"full\":true}}" : ",\"full\":false}}");
      flush();
    } catch (...) {  // out of memory: leave it out of the trace
    }
  }
  ::flock(file_.get(), LOCK_UN);  // a forked child may still have the file open
  if (!file_.close() && fault_ == 0) fault_ = errno;
}

void trace_file::stop_following() noexcept {
  following_ = false;
  for (std::size_t slot = 0; slot < of_.slots; ++slot) of_.lanes[slot].end();
}

std::string trace_file::note() const {
  if (fault_ != 0)
    return "trace: can't write " + printable(path_) + ": " + std::strerror(fault_) + "; the trace ends there";
  if (full_)
    return "trace: " + printable(path_) + " has reached max_bytes, " + std::to_string(options_.max_bytes) +
           "; the trace ends there";
  return {};
}

/// Without `depths`: for the last time.
void trace_file::drain(queue_depths* depths) {
  spans_.clear();
  for (std::size_t slot = 0; slot < of_.slots; ++slot) {
    of_.lanes[slot].read([&](const trace_span& s) {
      if (s.begun >= begun_) spans_.push_back({s, slot});
    });
  }
  const reading now = read_clocks();
  if (now.ticks <= clocks_.back().ticks) return;
  clocks_.push_back(now);
  if (clocks_.size() == 65'536) clocks_.erase(clocks_.begin() + 1, clocks_.begin() + 32'768);
  for (const laid_out& s : spans_) add(s);
  for (const iteration_times& i : iterations_) add(i);
  for (const traced_batch& b : batches_) add(b);
  iterations_.clear();
  batches_.clear();
  if (depths != nullptr) {
    depths->at = offset_ + now.nanoseconds;
    add(*depths);
  }
  flush();
  choose_every(now.nanoseconds);
  choose_every_batch(now.nanoseconds);
  if (full_ || fault_ != 0) stop_following();
}

/// Adds all of an item's events, or none if the file would get too large.
template <class What>
void trace_file::add(const What& what) {
  if (full_ || fault_ != 0) return;
  const std::size_t before = text_.size();
  write(what);
  full_ = written_ + text_.size() + end_bytes > options_.max_bytes;
  if (full_)
    text_.resize(before);
  else if (text_.size() >= a_write)
    flush();
}

/// Follows fewer samples if there are more than 10,000 spans a second, or if lanes overflow.
void trace_file::choose_every(std::uint64_t now) noexcept {
  in_window_ += spans_.size();
  const std::uint64_t drops = dropped();
  const bool overflown = drops != std::exchange(dropped_, drops);
  const std::uint64_t passed = now - window_;
  if (!overflown && passed < a_second / 50) return;
  const std::uint64_t most = std::max<std::uint64_t>(passed / 100'000, 200);
  if (overflown || in_window_ > most + most / 2)
    every_ = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(every_ * std::max<std::uint64_t>(in_window_ / most + 1, 2), 1 << 30));
  else if (in_window_ < most / 3)
    every_ = std::max(options_.every, every_ / 2);
  window_ = now;
  in_window_ = 0;
  for (std::size_t slot = 0; slot < of_.slots; ++slot) of_.lanes[slot].follow(every_);
}

/// Follows more iterations again if there are fewer of them.
void trace_file::choose_every_batch(std::uint64_t now) noexcept {
  if (now - loop_window_ < a_second / 5) return;
  if (loops_in_window_ < most_loops / 3) every_batch_ = std::max<std::uint64_t>(every_batch_ / 2, 1);
  loop_window_ = now;
  loops_in_window_ = 0;
}

/// Writes text_ over the closing bracket, and another bracket. Undoes a write that fails.
void trace_file::flush() {
  if (text_.empty()) return;
  const std::size_t more = text_.size();
  text_ += closing;
  if (write_at(written_, text_)) {
    written_ += more;
  } else if (written_ != 0) {
    // There is still room where the bracket was.
    const int fault = fault_;
    if (write_at(written_, closing))
      static_cast<void>(!::ftruncate(file_.get(), static_cast<::off_t>(written_ + closing.size())));
    fault_ = fault;
  }
  text_.clear();
}

/// \returns whether everything was written; if not, fault_ says why
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

}  // namespace wick::detail
