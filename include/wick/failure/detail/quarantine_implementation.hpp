/// \file
/// The bodies of what failure/quarantine.hpp declares. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <wick/failure/detail/ledger_file.hpp>
#include <wick/failure/quarantine.hpp>
#include <wick/resume/state.hpp>
#include <wick/sample/error.hpp>
#include <wick/system/detail/plain_file.hpp>

namespace wick::detail {

quarantine::quarantine(std::vector<entry> entries, std::vector<std::string> stages)
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

bool quarantine::has(std::uint64_t index) const noexcept {
  if (places_.empty()) return false;
  for (std::size_t p = first_place(index);; p = (p + 1) & (places_.size() - 1)) {
    if (places_[p] == index) return true;
    if (places_[p] == nobody) return false;
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

}  // namespace wick::detail
