// Implements failures/detail/quarantine.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <system_error>
#include <utility>

#include <wick/base/detail/json_string.hpp>
#include <wick/failures/detail/failure_log_file.hpp>
#include <wick/failures/detail/quarantine.hpp>
#include <wick/io/detail/plain_file.hpp>
#include <wick/io/detail/replace_file.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/resume/detail/state.hpp>

namespace wick::inline v0_1::detail {

quarantine::quarantine(std::vector<entry> entries, std::vector<std::string> stages)
    : entries_(std::move(entries)), stages_(std::move(stages)) {
  std::stable_sort(entries_.begin(), entries_.end(),
                   [](const entry& a, const entry& b) { return a.index < b.index; });
  entries_.erase(std::unique(entries_.begin(), entries_.end(),
                             [](const entry& a, const entry& b) { return a.index == b.index; }),
                 entries_.end());
  if (entries_.empty()) return;
  places_.assign(std::bit_ceil(2 * entries_.size() + 1), no_index);
  for (const entry& e : entries_) {
    std::size_t p = first_place(e.index);
    while (places_[p] != no_index) p = (p + 1) & (places_.size() - 1);
    places_[p] = e.index;
  }
}

bool quarantine::has(std::uint64_t index) const noexcept {
  if (places_.empty()) return false;
  for (std::size_t p = first_place(index);; p = (p + 1) & (places_.size() - 1)) {
    if (places_[p] == index) return true;
    if (places_[p] == no_index) return false;
  }
}

std::string quarantine::stage_of(std::uint64_t index) const {
  const auto at = std::lower_bound(entries_.begin(), entries_.end(), index,
                                   [](const entry& e, std::uint64_t i) { return e.index < i; });
  return at != entries_.end() && at->index == index && at->stage < stages_.size() ? stages_[at->stage]
                                                                                  : std::string();
}

std::size_t quarantine::first_place(std::uint64_t index) const noexcept {
  return static_cast<std::size_t>((index * 0x9E3779B97F4A7C15u) >> 32) & (places_.size() - 1);
}

std::string quarantine_head(std::uint64_t samples, std::uint64_t data) {
  return "{\"wick_quarantine\":1,\"samples\":" + std::to_string(samples) + ",\"data\":\"" + hex(data) + "\"}";
}

std::string quarantine_line(std::uint64_t index, std::string_view key, std::string_view stage) {
  return "{\"index\":" + std::to_string(index) + ",\"key\":" + json_string(key) +
         ",\"stage\":" + json_string(stage) + "}";
}

void write_quarantine(const std::string& path, const listed_source& from,
                      std::span<const quarantine::entry> entries, std::span<const std::string> stages) {
  std::string out = quarantine_head(from.samples, from.data) + "\n";
  for (const quarantine::entry& e : entries) {
    out += quarantine_line(e.index, from.key(from.source, e.index),
                           e.stage < stages.size() ? stages[e.stage] : "") +
           "\n";
  }
  replace_file(path, std::as_bytes(std::span<const char>(out)), "quarantine");
}

std::vector<quarantine::entry> read_quarantine(const std::string& path, const listed_source& from,
                                               std::span<const std::string> stages) {
  const std::string who = printable(path) + ": quarantine: ";
  constexpr const char* advice = "; give a file that loader.write_quarantine() wrote";
  const plain_file look = open_plain(path.c_str());
  if (look.other != nullptr) throw error(who + not_a_file(look.other));
  std::ifstream in(path, std::ios::binary);
  if (!in) throw error(who + "can't be opened: " + std::generic_category().message(errno) + advice);
  const auto check_end = [&](std::uint64_t number, const std::string& line) {
    if (in.eof() && !line.ends_with('}')) {
      throw error(who + "line " + std::to_string(number) + " is cut off (" + printable(line.substr(0, 100)) +
                  "): the list was not copied whole; make the list again");
    }
  };
  const std::string head = quarantine_head(from.samples, from.data);
  std::string line;
  if (!std::getline(in, line)) throw error(who + (in.bad() ? "can't be read" : "is empty") + advice);
  if (!line.starts_with("{\"wick_quarantine\":")) throw error(who + "isn't a quarantine list" + advice);
  check_end(1, line);
  if (!line.starts_with("{\"wick_quarantine\":1,")) {
    throw error(who + "has a format that this wick doesn't know; it was written by a newer one");
  }
  if (line != head) {
    throw error(who + "is of another data set (" + printable(line) + "; this loader's is " + head +
                "): its names, labels or number of samples differ; make the list again");
  }
  std::vector<quarantine::entry> out;
  for (std::uint64_t number = 2; std::getline(in, line); ++number) {
    check_end(number, line);
    const std::string where = who + "line " + std::to_string(number);
    constexpr std::string_view begin = "{\"index\":";
    quarantine::entry e;
    if (!line.starts_with(begin) ||
        std::from_chars(line.data() + begin.size(), line.data() + line.size(), e.index).ec != std::errc() ||
        e.index >= from.samples) {
      throw error(where + " names no sample of the data set (" + printable(line.substr(0, 100)) +
                  "); make the list again");
    }
    const std::string wanted = quarantine_line(e.index, from.key(from.source, e.index), "");
    const std::string_view until_stage = std::string_view(wanted).substr(0, wanted.size() - 3);  // ""}
    if (!line.starts_with(until_stage) || !line.ends_with("\"}")) {
      throw error(where + " says " + printable(line.substr(0, 200)) + ", and sample " +
                  std::to_string(e.index) + " is " + printable(from.key(from.source, e.index)) +
                  "; make the list again");
    }
    const std::string_view stage =
        std::string_view(line).substr(until_stage.size(), line.size() - until_stage.size() - 1);
    while (e.stage < stages.size() && json_string(stages[e.stage]) != stage) ++e.stage;
    out.push_back(e);
  }
  if (in.bad()) throw error(who + "can't be read to its end" + advice);
  return out;
}

quarantine read_quarantines(const std::vector<std::string>& paths, const listed_source& from,
                            std::vector<std::string> stages) {
  std::vector<quarantine::entry> all;
  for (const std::string& path : paths) {
    const std::vector<quarantine::entry> some = read_quarantine(path, from, stages);
    all.insert(all.end(), some.begin(), some.end());
  }
  return quarantine(std::move(all), std::move(stages));
}

}  // namespace wick::detail
