// Implements pipeline/random.hpp. Included in exactly one file of a program.
#pragma once

#include <cmath>
#include <numbers>

#include <wick/pipeline/random.hpp>

namespace wick::inline v0_1 {

double random_stream::normal() noexcept {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

}  // namespace wick
