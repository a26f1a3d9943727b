/// \file
/// The bodies of what cache/detail/keeping.hpp declares. Included in exactly one file of a program.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <wick/cache/detail/keeping.hpp>
#include <wick/pipeline/error.hpp>

namespace wick::inline v0_1::detail {

void refuse_random_before(std::string_view cache, std::uint32_t stage) {
  throw error(
      "stage " + std::to_string(stage) +
      " of the pipeline (counted from 0) stands before it and draws random numbers, which would be the "
      "same in every epoch; write " +
      std::string(cache) + "() before that stage, or give it {.freeze_random = true}");
}

}  // namespace wick::detail
