/// \file
/// The bodies of what order/mix.hpp declares. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <wick/order/mix.hpp>
#include <wick/sample/error.hpp>

namespace wick::detail {

void shares_of(std::span<const double> weights, std::span<std::uint64_t> shares) {
  double left = 0;
  for (const double w : weights) {
    if (!(w > 0) || !std::isfinite(w)) {
      throw error("mix: a weight of " + std::to_string(w) + "; weights are finite and above 0");
    }
    left += w;
  }
  if (!std::isfinite(left)) throw error("mix: the sum of the weights is not finite; make them smaller");
  for (std::size_t s = 0; s + 1 < weights.size(); ++s) {
    left = 0;
    for (std::size_t i = s; i < weights.size(); ++i) left += weights[i];
    shares[s] = static_cast<std::uint64_t>(std::min(std::ldexp(weights[s] / left, 64), 0x1.fffffffffffffp63));
  }
}

}  // namespace wick::detail
