/// \file
/// How the events of trace/detail/trace_file.hpp are written. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <wick/trace/detail/trace_file.hpp>
#include <wick/trace/detail/trace_lane.hpp>

namespace wick::detail {

namespace {
void append(std::string& to, std::uint64_t n) {
  std::array<char, 20> digits;
  to.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), n).ptr);
}
}  // namespace

void trace_file::flow(char phase, const trace_span& s, std::uint64_t tid, std::uint64_t at) {
  text_ += ",\n{\"ph\":\"";
  text_ += phase;
  text_ += "\",\"name\":\"sample\",\"cat\":\"sample\"";
  number(",\"id\":", id_of(s));
  if (phase == 'f') text_ += ",\"bp\":\"e\"";
  place(tid);
  time(",\"ts\":", at);
  text_ += '}';
  ++events_;
}

void trace_file::complete(std::string_view name, std::string_view category, std::uint64_t tid,
                          std::uint64_t begun, std::uint64_t ended) {
  text_ += ",\n{\"ph\":\"X\",\"name\":";
  text_ += name;
  text_ += ",\"cat\":\"";
  text_ += category;
  text_ += '"';
  place(tid);
  time(",\"ts\":", begun);
  time(",\"dur\":", ended - std::min(begun, ended));
  text_ += '}';
  ++events_;
}

/// Without its end.
void trace_file::async(char phase, std::string_view name, std::string_view category, std::uint64_t id,
                       std::uint64_t at) {
  text_ += ",\n{\"ph\":\"";
  text_ += phase;
  text_ += "\",\"name\":";
  text_ += name;
  text_ += ",\"cat\":\"";
  text_ += category;
  number("\",\"id\":", id);
  place(0);
  time(",\"ts\":", at);
  ++events_;
}

void trace_file::counter(std::string_view name, std::uint64_t at, std::uint64_t value) {
  text_ += ",\n{\"ph\":\"C\",\"name\":\"";
  text_ += name;
  text_ += '"';
  place(0);
  time(",\"ts\":", at);
  number(",\"args\":{\"value\":", value);
  text_ += "}}";
  ++events_;
}

void trace_file::name_thread(std::uint64_t tid, std::string_view name, std::size_t n, bool numbered) {
  if (std::exchange(named_[tid % tracks], char{1}) != 0) return;
  text_ += ",\n{\"ph\":\"M\",\"name\":\"thread_name\"";
  place(tid);
  text_ += ",\"args\":{\"name\":\"";
  text_ += name;
  if (numbered) append(text_, n);
  text_ += "\"}}";
}

/// What the array format has no other place for.
void trace_file::about(std::string_view name) {
  text_ += ",\n{\"ph\":\"M\",\"name\":\"";
  text_ += name;
  text_ += '"';
  place(0);
  number(",\"args\":{\"baseTimeNanoseconds\":", base_);
  if (ended_) {
    std::uint64_t followed = 0, left_out = 0, dropped = 0;
    for (std::size_t slot = 0; slot < of_.slots; ++slot) {
      followed += of_.lanes[slot].followed();
      left_out += of_.lanes[slot].left_out();
      dropped += of_.lanes[slot].dropped();
    }
    number(",\"events\":", events_);
    number(",\"samples_followed\":", followed);
    number(",\"one_in\":", every_);
    number(",\"samples_without_room\":", left_out);
    number(",\"spans_dropped\":", dropped + left_out_);
    text_ += full_ ? ",\"full\":true" : ",\"full\":false";
  }
  text_ += "}}";
}

void trace_file::place(std::uint64_t tid) {
  number(",\"pid\":", process_);
  number(",\"tid\":", first_thread_ + tid);
}

void trace_file::time(std::string_view name, std::uint64_t ns) {
  text_ += name;
  append(text_, ns / 1000);
  const auto rest = static_cast<unsigned>(ns % 1000);
  text_ += '.';
  for (const unsigned digit : {rest / 100, rest / 10 % 10, rest % 10})
    text_ += static_cast<char>('0' + digit);
}

void trace_file::number(std::string_view name, std::uint64_t value) {
  text_ += name;
  append(text_, value);
}

}  // namespace wick::detail
