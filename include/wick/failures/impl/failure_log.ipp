// Implements failures/failure_log.hpp. Included in exactly one file of a program.
#pragma once

#include <utility>

#include <wick/failures/failure_log.hpp>

namespace wick::inline v0_1 {

void failure_log::add(failure_log::entry e) {
  if (e.action != error_action::retry) ++total_;
  count(e);
  if (entries_.size() < max_kept) entries_.push_back(std::move(e));
}

void failure_log::count(const failure_log::entry& e) {
  for (detail::error_count& c : counts_) {
    if (c.action == e.action && c.stage == e.stage) {
      ++c.count;
      return;
    }
  }
  counts_.push_back({e.stage, e.action, 1});
}

}  // namespace wick
