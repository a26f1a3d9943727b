// Checks the arguments of stages, so that a wrong one is an error before the first sample.
#pragma once

#include <string_view>

#include <wick/pipeline/error.hpp>

namespace wick::inline v0_1::detail {

void require_size(std::string_view stage, int height, int width);

void require_probability(std::string_view stage, double p);

}  // namespace wick::detail
