// Implements failures/detail/dropped_counts.hpp. Included in exactly one file of a program.
#pragma once

#include <string>

#include <wick/failures/detail/dropped_counts.hpp>
#include <wick/pipeline/error.hpp>

namespace wick::inline v0_1::detail {

void dropped_counts::refuse(std::uint64_t epoch, const left_out_counts& out) {
  const std::string of_epoch = " of epoch " + std::to_string(epoch);
  if (out.failed == 0) {
    throw error("filter: " +
                (out.filtered == 1
                     ? "the only sample" + of_epoch + " was"
                     : "all " + std::to_string(out.filtered) + " samples" + of_epoch + " were") +
                " left out, so there was no batch with any; look at what the predicate is "
                "given, and whether it returns true for what is to be kept");
  }
  std::string text = "nothing is left" + of_epoch + ": ";
  if (out.filtered != 0) text += "filter() left out " + std::to_string(out.filtered) + ", ";
  throw error(text + std::to_string(out.failed) +
              " failed; see loader.failure_log(), in Python loader.failures");
}

}  // namespace wick::detail
