// Implements async/detail/tenants.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>

#include <wick/async/detail/tenants.hpp>

namespace wick::inline v0_1::detail {

void tenants::enter(const void* who, std::uint64_t (*ticks)(const void*)) {
  const std::lock_guard lock(mutex_);
  all_.push_back({who, ticks});
}

void tenants::leave(const void* who) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(all_.begin(), all_.end(), [&](const tenant& t) { return t.who == who; });
  if (found == all_.end()) return;
  gone_ += found->ticks(who);
  all_.erase(found);
}

std::uint64_t tenants::ticks_of_others(const void* who) const {
  const std::lock_guard lock(mutex_);
  std::uint64_t sum = gone_;
  for (const tenant& t : all_) {
    if (t.who != who) sum += t.ticks(t.who);
  }
  return sum;
}

}  // namespace wick::detail
