// Implements transforms/normalize.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

#include <wick/ext/fingerprint.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/transforms/normalize.hpp>

namespace wick::inline v0_1 {

channel_values::channel_values(std::initializer_list<double> each) : count(static_cast<int>(each.size())) {
  if (each.size() < 1 || each.size() > values.size()) {
    throw error("normalize: " + std::to_string(each.size()) +
                " values; give one for each channel, or one for all");
  }
  std::size_t i = 0;
  for (const double v : each) values[i++] = static_cast<float>(v);
}

}  // namespace wick

namespace wick::inline v0_1::detail {

normalize_stage::normalize_stage(const channel_values& mean, const channel_values& deviation)
    : by_{mean.values, deviation.values, std::max(mean.count, deviation.count)} {
  if (mean.count != deviation.count && mean.count != 1 && deviation.count != 1) {
    throw error("normalize: " + std::to_string(mean.count) + " means and " + std::to_string(deviation.count) +
                " deviations; give as many of each");
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(by_.count); ++i) {
    if (mean.count == 1) by_.mean[i] = mean.values[0];
    if (deviation.count == 1) by_.deviation[i] = deviation.values[0];
    if (!std::isfinite(by_.mean[i]) || !std::isfinite(by_.deviation[i]) || !(by_.deviation[i] > 0)) {
      throw error("normalize: mean " + std::to_string(by_.mean[i]) + ", deviation " +
                  std::to_string(by_.deviation[i]) +
                  "; give finite means, and deviations above 0, for pixels in [0, 1]");
    }
    if (by_.mean[i] > 1) {
      throw error(
          "normalize: mean " + std::to_string(by_.mean[i]) +
          "; means and deviations are for pixels in [0, 1]: divide those for levels of 0 to 255 by 255, "
          "and normalize what isn't a picture in a stage of your own");
    }
  }
}

std::uint64_t normalize_stage::fingerprint() const noexcept {
  return fingerprint_hash::of(by_.mean, by_.deviation, by_.count);
}

}  // namespace wick::detail

namespace wick::inline v0_1 {

detail::normalize_stage normalize(const channel_values& mean, const channel_values& std) {
  return {mean, std};
}

}  // namespace wick
