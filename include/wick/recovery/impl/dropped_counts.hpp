/// \file
/// The bodies of what recovery/detail/dropped_counts.hpp declares. Included in exactly one file of a program.
#pragma once

#include <cstdint>
#include <string>

#include <wick/pipeline/error.hpp>
#include <wick/recovery/detail/dropped_counts.hpp>

namespace wick::inline v0_1::detail {

void dropped_counts::refuse(std::uint64_t epoch, std::uint64_t dropped) {
  throw error("filter: all " + std::to_string(dropped) + " samples of epoch " + std::to_string(epoch) +
              " were left out, so there was no batch with any; look at what the predicate is "
              "given, and whether it returns true for what is to be kept");
}

}  // namespace wick::detail
