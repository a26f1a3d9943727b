// Implements pipeline/shape.hpp. Included in exactly one file of a program.
#pragma once

#include <wick/pipeline/shape.hpp>

namespace wick::inline v0_1 {

std::string to_string(const shape& s) {
  std::string out = "[";
  for (std::size_t i = 0; i < s.rank(); ++i) out += (i ? ", " : "") + std::to_string(s[i]);
  return out + "]";
}

}  // namespace wick
