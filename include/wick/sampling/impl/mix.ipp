// Implements sampling/mix.hpp. Included in exactly one file of a program.
#pragma once

#include <cmath>

#include <wick/sampling/mix.hpp>

namespace wick::inline v0_1::detail {

void shares_of(std::span<const double> weights, std::span<std::uint64_t> shares) {
  double left = 0;
  for (const double w : weights) {
    if (!(w >= 0) || !std::isfinite(w)) {
      throw error("mix: a weight of " + std::to_string(w) + "; weights are finite and not below 0");
    }
    left += w;
  }
  if (!std::isfinite(left)) throw error("mix: the sum of the weights is not finite; make them smaller");
  if (left == 0) throw error("mix: all weights are 0; one at least must be above");
  for (std::size_t s = 0; s + 1 < weights.size(); ++s) {
    left = 0;
    for (std::size_t i = s; i < weights.size(); ++i) left += weights[i];
    const double share = left == 0 ? 0 : weights[s] / left;
    shares[s] = static_cast<std::uint64_t>(std::min(std::ldexp(share, 64), 0x1.fffffffffffffp63));
  }
}

void check_names(std::span<const std::string> names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    for (const char c : names[i]) {
      const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
      if (!letter && std::string_view("._-/").find(c) == std::string_view::npos) {
        throw error("mix: a source is called " + printable(names[i]) +
                    "; names are of letters, digits, and any of . _ - /");
      }
    }
    if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) !=
        names.begin() + static_cast<std::ptrdiff_t>(i)) {
      throw error("mix: two sources are called " + names[i] + "; give each a name of its own");
    }
  }
}

}  // namespace wick::detail
