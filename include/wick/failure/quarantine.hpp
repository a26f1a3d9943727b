/// \file
/// Samples that are known to be bad: a file that one run writes and a later one loads, so as not to try them
/// again.
#pragma once

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <wick/failure/detail/ledger_file.hpp>
#include <wick/resume/state.hpp>
#include <wick/resume/state_file.hpp>
#include <wick/sample/error.hpp>
#include <wick/sample/source.hpp>
#include <wick/system/detail/plain_file.hpp>

namespace wick::detail {

/// Indexes of a source, each with the stage in which the sample failed. Once it is made, any thread may ask.
class quarantine {
 public:
  struct entry {
    std::uint64_t index = 0;
    std::size_t stage = 0;  ///< its number in the names
  };

  quarantine() = default;
  /// Of several entries for one index the first counts.
  explicit quarantine(std::vector<entry> entries, std::vector<std::string> stages = {})
      : entries_(std::move(entries)), stages_(std::move(stages)) {
    std::stable_sort(entries_.begin(), entries_.end(),
                     [](const entry& a, const entry& b) { return a.index < b.index; });
    entries_.erase(std::unique(entries_.begin(), entries_.end(),
                               [](const entry& a, const entry& b) { return a.index == b.index; }),
                   entries_.end());
    if (entries_.empty()) return;
    places_.assign(std::bit_ceil(2 * entries_.size() + 1), nobody);
    for (const entry& e : entries_) {
      std::size_t p = first_place(e.index);
      while (places_[p] != nobody) p = (p + 1) & (places_.size() - 1);
      places_[p] = e.index;
    }
  }

  bool empty() const noexcept { return entries_.empty(); }
  std::size_t size() const noexcept { return entries_.size(); }
  /// By rising index.
  const std::vector<entry>& entries() const noexcept { return entries_; }
  bool has(std::uint64_t index) const noexcept {
    if (places_.empty()) return false;
    for (std::size_t p = first_place(index);; p = (p + 1) & (places_.size() - 1)) {
      if (places_[p] == index) return true;
      if (places_[p] == nobody) return false;
    }
  }
  /// In which stage it failed; empty when that is not known.
  std::string stage_of(std::uint64_t index) const {
    const auto at = std::lower_bound(entries_.begin(), entries_.end(), index,
                                     [](const entry& e, std::uint64_t i) { return e.index < i; });
    return at != entries_.end() && at->index == index && at->stage < stages_.size() ? stages_[at->stage]
                                                                                    : std::string();
  }

 private:
  static constexpr std::uint64_t nobody = ~std::uint64_t{0};
  std::size_t first_place(std::uint64_t index) const noexcept {
    return static_cast<std::size_t>((index * 0x9E3779B97F4A7C15u) >> 32) & (places_.size() - 1);
  }
  std::vector<entry> entries_;
  std::vector<std::string> stages_;
  std::vector<std::uint64_t> places_;
};

inline std::string quarantine_head(std::uint64_t samples, std::uint64_t data) {
  return "{\"wick_quarantine\":1,\"samples\":" + std::to_string(samples) + ",\"data\":\"" + hex(data) + "\"}";
}
inline std::string quarantine_line(std::uint64_t index, std::string_view key, std::string_view stage) {
  return "{\"index\":" + std::to_string(index) + ",\"key\":" + json_string(key) +
         ",\"stage\":" + json_string(stage) + "}";
}

/// Replaces the file at `path` by these samples of `from`: a line of JSON that says of which data set, and
/// one a sample with its index, its key and the stage (a number in `stages`). Whoever reads meanwhile finds
/// the old file or the new one. \throws wick::error
template <source Source>
void write_quarantine(const std::filesystem::path& path, const Source& from,
                      std::span<const quarantine::entry> entries, std::span<const std::string> stages) {
  std::string out = detail::quarantine_head(from.size(), fingerprint_of(from)) + "\n";
  for (const quarantine::entry& e : entries) {
    out += detail::quarantine_line(e.index, key_of(from, e.index),
                                   e.stage < stages.size() ? stages[e.stage] : "") +
           "\n";
  }
  detail::replace_file(path, std::as_bytes(std::span<const char>(out)), "quarantine");
}

/// The samples of `from` that a file of write_quarantine() names. A stage that is not among `stages` (the
/// pipeline has changed since) is stages.size(). \throws wick::error when it can't be read, is no such file,
/// is of another data set, or names a sample by another key
template <source Source>
std::vector<quarantine::entry> read_quarantine(const std::filesystem::path& path, const Source& from,
                                               std::span<const std::string> stages) {
  const std::string who = printable(path.native()) + ": quarantine: ";
  constexpr const char* advice = "; give a file that loader.write_quarantine() wrote";
  const detail::plain_file look = detail::open_plain(path.c_str());
  if (look.other != nullptr) throw error(who + detail::not_a_file(look.other));
  std::ifstream in(path, std::ios::binary);
  if (!in) throw error(who + "can't be opened: " + std::generic_category().message(errno) + advice);
  const auto check_end = [&](std::uint64_t number, const std::string& line) {
    if (in.eof() && !line.ends_with('}')) {
      throw error(who + "line " + std::to_string(number) + " is cut off (" + printable(line.substr(0, 100)) +
                  "): the list was not copied whole; make the list anew");
    }
  };
  const std::string head = detail::quarantine_head(from.size(), fingerprint_of(from));
  std::string line;
  if (!std::getline(in, line)) throw error(who + (in.bad() ? "can't be read" : "is empty") + advice);
  if (!line.starts_with("{\"wick_quarantine\":")) throw error(who + "is no quarantine list" + advice);
  check_end(1, line);
  if (!line.starts_with("{\"wick_quarantine\":1,")) {
    throw error(who + "has a format that this wick doesn't know; it was written by a newer one");
  }
  if (line != head) {
    throw error(who + "is of another data set (" + printable(line) + "; this loader's is " + head +
                "): its names, labels or number of samples differ; make the list anew");
  }
  std::vector<quarantine::entry> out;
  for (std::uint64_t number = 2; std::getline(in, line); ++number) {
    check_end(number, line);
    const std::string where = who + "line " + std::to_string(number);
    constexpr std::string_view begin = "{\"index\":";
    quarantine::entry e;
    if (!line.starts_with(begin) ||
        std::from_chars(line.data() + begin.size(), line.data() + line.size(), e.index).ec != std::errc() ||
        e.index >= from.size()) {
      throw error(where + " names no sample of the data set (" + printable(line.substr(0, 100)) +
                  "); make the list anew");
    }
    const std::string wanted = detail::quarantine_line(e.index, key_of(from, e.index), "");
    const std::string_view until_stage = std::string_view(wanted).substr(0, wanted.size() - 3);  // ""}
    if (!line.starts_with(until_stage) || !line.ends_with("\"}")) {
      throw error(where + " says " + printable(line.substr(0, 200)) + ", and sample " +
                  std::to_string(e.index) + " is " + printable(key_of(from, e.index)) +
                  "; make the list anew");
    }
    const std::string_view stage =
        std::string_view(line).substr(until_stage.size(), line.size() - until_stage.size() - 1);
    while (e.stage < stages.size() && detail::json_string(stages[e.stage]) != stage) ++e.stage;
    out.push_back(e);
  }
  if (in.bad()) throw error(who + "can't be read to its end" + advice);
  return out;
}

}  // namespace wick::detail
