// Implements profile/detail/durations.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>

#include <wick/profile/detail/durations.hpp>

namespace wick::inline v0_1::detail {

void durations::add(const duration_counts& of) noexcept {
  for (std::size_t i = 0; i < bins_.size(); ++i) bins_[i] += of.in(i);
}

void durations::add(const durations& other) noexcept {
  for (std::size_t i = 0; i < bins_.size(); ++i) bins_[i] += other.bins_[i];
}

void durations::clear() noexcept { std::fill(bins_.begin(), bins_.end(), std::uint64_t{0}); }

durations durations::since(const durations& before) const {
  durations out = *this;
  for (std::size_t i = 0; i < bins_.size(); ++i) out.bins_[i] -= before.bins_[i];
  return out;
}

durations durations::with(const durations& moves) const {
  durations out = *this;
  for (std::size_t i = 0; i < bins_.size(); ++i) {
    const auto sum = static_cast<std::int64_t>(bins_[i] + moves.bins_[i]);
    out.bins_[i] = static_cast<std::uint64_t>(std::max<std::int64_t>(sum, 0));
  }
  return out;
}

bool durations::none() const noexcept {
  return std::all_of(bins_.begin(), bins_.end(), [](std::uint64_t n) { return n == 0; });
}

std::uint64_t durations::count() const noexcept {
  std::uint64_t n = 0;
  for (const std::uint64_t b : bins_) n += b;
  return n;
}

double durations::quantile(double q) const noexcept {
  const auto all = static_cast<double>(count());
  if (all == 0) return 0;
  // The k-th of n is at (k - 1/2) / n: the quantile of a single value is that value.
  const double wanted = std::clamp(q, 0.0, 1.0) * all;
  double below = 0;
  std::size_t last = 0;
  for (std::size_t i = 0; i < bins_.size(); ++i) {
    if (bins_[i] == 0) continue;
    last = i;
    const auto here = static_cast<double>(bins_[i]);
    if (below + here >= wanted) {
      if (i < 8) return static_cast<double>(i);
      const double width = static_cast<double>(std::uint64_t{1} << (i / 8 - 1));
      const double low = duration_bins::middle(i) - (width - 1) / 2;
      return low + (width - 1) * std::clamp((wanted - below) / here, 0.0, 1.0);
    }
    below += here;
  }
  return duration_bins::middle(last);
}

double durations::mean() const noexcept {
  double sum = 0, n = 0;
  for (std::size_t i = 0; i < bins_.size(); ++i) {
    const auto here = static_cast<double>(bins_[i]);
    sum += duration_bins::middle(i) * here;
    n += here;
  }
  return n == 0 ? 0 : sum / n;
}

std::vector<float> durations::multiples(std::size_t steps) const {
  std::vector<float> out;
  const double m = mean(), all = static_cast<double>(count());
  if (m <= 0 || all <= 0 || steps == 0 || quantile(1) < 1.1 * quantile(0)) return out;
  out.reserve(steps);
  double sum = 0, below = 0;
  std::size_t bin = 0;
  for (std::size_t i = 0; i < steps; ++i) {
    const double wanted = (static_cast<double>(i) + 0.5) / static_cast<double>(steps) * all;
    while (bin + 1 < bins_.size() && below + static_cast<double>(bins_[bin]) < wanted)
      below += static_cast<double>(bins_[bin++]);
    out.push_back(static_cast<float>(duration_bins::middle(bin) / m));
    sum += static_cast<double>(out.back());
  }
  // A tail thinner than a step goes into the last step, so that the mean is kept.
  const double lacks = static_cast<double>(steps) - sum;
  out.back() = static_cast<float>(std::max(0.0, static_cast<double>(out.back()) + lacks));
  return out;
}

}  // namespace wick::detail
