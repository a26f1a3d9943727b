// Implements profile/detail/stall_meter.hpp. Included in exactly one file of a program.
#pragma once

#include <wick/profile/detail/stall_meter.hpp>

namespace wick::inline v0_1::detail {

double stall_meter::median() const noexcept {
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < bins_.size(); ++i) {
    below += bins_[i];
    if (2 * below >= count_ && count_ != 0) return static_cast<double>(i) / bins;
  }
  return 0.0;
}

void stall_meter::add(const stall_meter& other) noexcept {
  for (std::size_t i = 0; i < bins_.size(); ++i) bins_[i] += other.bins_[i];
  count_ += other.count_;
  waited_ += other.waited_;
  total_ += other.total_;
  waits_.add(other.waits_);
  iterations_.add(other.iterations_);
  steps_.add(other.steps_);
}

}  // namespace wick::detail
