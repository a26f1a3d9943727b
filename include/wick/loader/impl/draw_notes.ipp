/// \file
/// The bodies of what loader/detail/draw_notes.hpp declares. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <vector>

#include <wick/loader/detail/draw_notes.hpp>

namespace wick::inline v0_1::detail {

void draw_notes::add(const line& l) {
  std::lock_guard lock(mutex_);
  lines_.push_back(l);
}

void draw_notes::sort() {
  std::stable_sort(lines_.begin(), lines_.end(),
                   [](const line& a, const line& b) { return a.where.position < b.where.position; });
}

std::vector<draw_notes::line> draw_notes::of(std::uint64_t position) const {
  struct by_position {
    bool operator()(const line& l, std::uint64_t p) const { return l.where.position < p; }
    bool operator()(std::uint64_t p, const line& l) const { return p < l.where.position; }
  };
  const auto [first, last] = std::equal_range(lines_.begin(), lines_.end(), position, by_position());
  auto from = first;
  for (auto l = first; l != last; ++l) {
    if (l->kind == what::begun) from = l + 1;
  }
  return {from, last};
}

}  // namespace wick::detail
