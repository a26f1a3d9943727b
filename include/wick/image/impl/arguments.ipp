// Implements image/detail/arguments.hpp. Included in exactly one file of a program.
#pragma once

#include <string>

#include <wick/image/detail/arguments.hpp>
#include <wick/pixels/geometry.hpp>

namespace wick::inline v0_1::detail {

void require_size(std::string_view stage, int height, int width) {
  if (height < 1 || width < 1) {
    throw error(std::string(stage) + ": size " + size_text(width, height) +
                " px leaves no picture; give at least 1 px a side");
  }
}

void require_probability(std::string_view stage, double p) {
  if (!(p >= 0 && p <= 1)) {
    throw error(std::string(stage) + ": probability " + std::to_string(p) + "; give one from 0 to 1");
  }
}

}  // namespace wick::detail
