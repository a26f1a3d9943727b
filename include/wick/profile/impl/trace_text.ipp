// How profile/detail/trace_file.hpp writes events. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>

#include <wick/async/detail/activity.hpp>
#include <wick/base/detail/json_string.hpp>
#include <wick/profile/detail/trace_file.hpp>

namespace wick::inline v0_1::detail {

namespace {

struct as_microseconds {
  std::uint64_t nanoseconds;
};
void put_one(std::string& to, std::string_view text) { to += text; }
void put_one(std::string& to, std::uint64_t n) {
  std::array<char, 20> digits;
  to.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), n).ptr);
}
void put_one(std::string& to, as_microseconds time) {
  put_one(to, time.nanoseconds / 1000);
  const auto rest = static_cast<unsigned>(time.nanoseconds % 1000);
  to += '.';
  for (const unsigned digit : {rest / 100, rest / 10 % 10, rest % 10}) to += static_cast<char>('0' + digit);
}
template <class... T>
void put(std::string& to, const T&... parts) {
  (put_one(to, parts), ...);
}

/// A JSON string without its quotes.
std::string escaped(std::string_view text) {
  const std::string quoted = json_string(text);
  return quoted.substr(1, quoted.size() - 2);
}

}  // namespace

/// `rest`: the other members, and the closing brace.
template <class... T>
void trace_file::event(std::string_view phase, std::string_view name, std::string_view category,
                       std::uint64_t track, std::uint64_t at, const T&... rest) {
  put(text_, ",\n{\"ph\":\"", phase, "\",\"name\":\"", name, "\",\"cat\":\"", category,
      "\",\"pid\":", process_, ",\"tid\":", first_thread_ + track, ",\"ts\":", as_microseconds{at}, rest...);
}

void trace_file::write(const laid_out& of) {
  constexpr std::array<std::string_view, wait_kinds> causes = {
      "other", "I/O thread", "I/O call", "memory", "time", "lock", "worker", "server", "sample"};
  constexpr std::array<std::string_view, 3> parts = {"decode", "resize", "color"};
  constexpr std::array<std::string_view, 5> kinds = {"stage", "wait", "call", "batch stage", "batch stage"};
  const trace_span& s = of.span;
  const std::string& name = names_[s.row];
  const std::string_view category = kinds[static_cast<std::size_t>(s.kind)];
  const std::uint64_t begun = nanoseconds(s.begun), ended = nanoseconds(s.ended), id = id_of(s);
  const bool of_batch = s.kind == span_kind::batch || s.kind == span_kind::batch_wait;
  const auto place = [&] {
    put(text_, of_batch ? ",\"args\":{\"batch\":" : ",\"args\":{\"position\":", s.position,
        ",\"epoch\":", s.epoch);
  };
  if (s.kind == span_kind::wait || s.kind == span_kind::batch_wait) {  // not on a worker
    event("b", name, category, 0, begun, ",\"id\":", id);
    place();
    if (!of_batch) put(text_, ",\"mostly_for\":\"", causes[s.cause], "\"");
    text_ += "}}";
    event("e", name, category, 0, ended, ",\"id\":", id, "}");
    return;
  }
  if (s.kind == span_kind::call) name_io_threads(std::size_t{s.thread} + 1);
  const bool on_worker = s.kind == span_kind::work;
  const bool first = on_worker && s.row == of_.first, last = on_worker && s.row == of_.last;
  const std::uint64_t track = s.kind == span_kind::call ? io_tracks + s.thread % io_tracks : 1 + of.slot;
  event("X", name, category, track, begun, ",\"dur\":", as_microseconds{ended - std::min(begun, ended)});
  place();
  if (first) {
    put(text_, ",\"index\":", s.index);
    try {
      put(text_, ",\"key\":", json_string(of_.key(of_.source, s.index)));
    } catch (...) {  // the source has fewer samples by now
    }
  }
  for (std::size_t p = 0; p < parts.size(); ++p) {
    if (s.parts[p] != 0) put(text_, ",\"", parts[p], "_ns\":", nanoseconds(s.begun + s.parts[p]) - begun);
  }
  text_ += "}}";
  // A sample that failed or was cancelled before its first stage isn't part of a flow.
  const bool in_source = s.row + std::size_t{1} == names_.size();
  if (of_batch || in_source) return;
  // Inside this span, but outside any span within it.
  event(first  ? "s"
        : last ? "f"
               : "t",
        "sample", "sample", track, begun + std::min<std::uint64_t>((ended - std::min(begun, ended)) / 2, 50),
        ",\"id\":", id, ",\"bp\":\"e\"}");
}

void trace_file::write(const iteration_times& of) {
  const std::uint64_t step = nanoseconds(of.step), wait = nanoseconds(of.wait), end = nanoseconds(of.end);
  if (step < wait) event("X", "step", "loop", 0, step, ",\"dur\":", as_microseconds{wait - step}, "}");
  event("X", "waiting", "loop", 0, wait, ",\"dur\":", as_microseconds{end - wait}, "}");
}

void trace_file::write(const traced_batch& of) {
  const std::uint64_t id = first_id_ + of.sequence, opened = nanoseconds(of.opened),
                      published = nanoseconds(std::clamp(of.published, of.opened, of.taken)),
                      taken = nanoseconds(of.taken);
  event("b", "batch", "batch", 0, opened, ",\"id\":", id, ",\"args\":{\"epoch\":", of.epoch,
        ",\"batch\":", of.number, ",\"samples\":", of.samples, "}}");
  event("b", "being made", "batch", 0, opened, ",\"id\":", id, "}");
  event("e", "being made", "batch", 0, published, ",\"id\":", id, "}");
  event("b", "ready", "batch", 0, published, ",\"id\":", id, "}");
  event("e", "ready", "batch", 0, taken, ",\"id\":", id, "}");
  event("e", "batch", "batch", 0, taken, ",\"id\":", id, "}");
}

void trace_file::write(const queue_depths& of) {
  const auto counter = [&](std::string_view name, std::uint64_t value) {
    event("C", name, "queue", 0, of.at, ",\"args\":{\"value\":", value, "}}");
  };
  counter("batches ready", of.ready);
  counter("samples in flight", of.samples);
  counter("bytes in flight", of.bytes);
}

/// The first `count`. Threads that start later are named at their first call.
void trace_file::name_io_threads(std::size_t count) {
  for (; io_named_ < count; ++io_named_)
    name_track(io_tracks + io_named_ % io_tracks, "I/O thread " + std::to_string(io_named_));
}

void trace_file::name_track(std::uint64_t track, std::string_view name) {
  put(text_, ",\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":", process_,
      ",\"tid\":", first_thread_ + track, ",\"args\":{\"name\":\"wick: ", name, "\"}}");
}

/// Metadata that the array format has no other place for. The caller adds the two closing braces.
void trace_file::begin_about(std::string_view name) {
  put(text_, ",\n{\"ph\":\"M\",\"name\":\"", name, "\",\"pid\":", process_, ",\"tid\":", first_thread_,
      ",\"args\":{\"baseTimeNanoseconds\":", base_);
}

}  // namespace wick::detail
