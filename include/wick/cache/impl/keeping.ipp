// Implements cache/detail/keeping.hpp. Included in exactly one file of a program.
#pragma once

#include <wick/cache/detail/keeping.hpp>
#include <wick/pipeline/error.hpp>

namespace wick::inline v0_1::detail {

void check_bytes(std::optional<std::uint64_t> given, std::string_view cache) {
  if (given == 0u)
    throw error(std::string(cache) + ": .bytes is 0, which keeps nothing; leave it out, or the stage");
}

void refuse_random_before(std::string_view cache, const context& c) {
  throw error(c.stage_text(c.last_drawing()) +
              " draws random numbers, and would draw the same ones in every epoch; write " +
              std::string(cache) + "() before that stage, or give the cache {.freeze_random = true}");
}

}  // namespace wick::detail
