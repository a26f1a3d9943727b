// Implements async/detail/concurrency.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cmath>

#include <wick/async/detail/concurrency.hpp>

namespace wick::inline v0_1::detail {

namespace {

constexpr double least_seconds = 0.2, most_seconds = 1.5;
/// Steps from the base, tried one after another; one that helped is tried again first.
constexpr double steps[] = {2, 0.5, 1.25, 0.8, 0.9};
constexpr std::size_t ways = sizeof steps / sizeof *steps;
/// Up to this limit, the last step is one call fewer, which the steps of a quarter more and a fifth less can
/// miss: 9, 11, and 7.
constexpr std::size_t few = 10;

}  // namespace

bool concurrency::ended(double now, bool more_wait) noexcept {
  if (fixed()) return false;
  if (skip_ != 0) {
    if (--skip_ == 0) begin(now);
    return false;
  }
  ++calls_;
  waits_ += more_wait ? 1u : 0u;
  const double took = now - begun_;
  const bool enough = calls_ >= std::max<std::uint64_t>(400, 4 * limit_) && took >= least_seconds;
  const double rate = static_cast<double>(calls_) / took;
  const bool worse = limit_ != base_ && rate < 0.75 * rate_ && took >= least_seconds / 2 &&
                     calls_ >= std::max<std::uint64_t>(100, 2 * limit_);
  if (!enough && !worse && !(calls_ >= 32 && took >= most_seconds)) return false;
  const std::size_t before = limit_;
  judge(rate, 2 * waits_ >= calls_);
  if (limit_ != before)
    skip_ = std::max(before, limit_);
  else
    begin(now);
  return limit_ != before;
}

void concurrency::begin(double now) noexcept {
  begun_ = now;
  calls_ = waits_ = 0;
}

void concurrency::judge(double rate, bool wanted) noexcept {
  if (limit_ != base_) {
    const bool up = limit_ > base_;
    if (rate >= (up ? 1.05 : 0.98) * rate_) {
      base_ = limit_;
      rate_ = rate;
      pause_ = first_pause;
    } else {
      limit_ = base_;
      ++way_;
    }
  } else {
    const double change = rate_ == 0 ? 1 : rate / rate_;
    const bool other = change > 1.3 || change < 0.7;
    rate_ = rate_ == 0 || other ? rate : (rate_ + rate) / 2;
    if (other) {
      way_ = change > 1 ? 0 : 1;
      pause_ = first_pause;
      rest_ = 0;
    }
  }
  // If calls don't wait for threads, more threads change nothing.
  if (limit_ != base_ || !wanted) return;
  if (way_ >= ways) {
    way_ = 0;
    rest_ = pause_;
    pause_ = std::min<std::uint64_t>(2 * pause_, 16 * first_pause);
  }
  if (rest_ != 0) {
    --rest_;
    return;
  }
  for (; way_ < ways; ++way_) {
    if (way_ == ways - 1 && base_ > few) continue;
    const auto to = static_cast<std::size_t>(std::lround(steps[way_] * static_cast<double>(base_)));
    limit_ = std::clamp(to, least_, most_);
    if (limit_ != base_) return;
  }
}

}  // namespace wick::detail
