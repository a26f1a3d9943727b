/// \file
/// The bodies of what recovery/ledger.hpp declares. Included in exactly one file of a program.
#pragma once

#include <utility>

#include <wick/recovery/ledger.hpp>
#include <wick/recovery/on_error.hpp>

namespace wick {

void ledger::add(ledger_entry e) {
  if (e.action != error_action::retry) ++total_;
  count(e);
  if (entries_.size() < max_kept) entries_.push_back(std::move(e));
}

void ledger::count(const ledger_entry& e) {
  for (detail::error_count& c : counts_) {
    if (c.action == e.action && c.stage == e.stage) {
      ++c.count;
      return;
    }
  }
  counts_.push_back({e.stage, e.action, 1});
}

}  // namespace wick
