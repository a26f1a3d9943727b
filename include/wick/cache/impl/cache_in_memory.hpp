/// \file
/// The bodies of what cache/cache_in_memory.hpp declares. Included in exactly one file of a program.
#pragma once

#include <cstdint>
#include <string>

#include <wick/cache/cache_in_memory.hpp>
#include <wick/pipeline/error.hpp>

namespace wick {

namespace detail {

void cache_in_memory_stage::refuse_random(std::uint32_t stage) {
  throw error(
      "stage " + std::to_string(stage) +
      " of the pipeline (counted from 0) stands before it and draws random numbers, which would be the "
      "same in every epoch; write cache_in_memory() before that stage, or give it {.freeze_random = true}");
}

}  // namespace detail

detail::cache_in_memory_stage cache_in_memory(const detail::memory_cache_options& options) {
  return detail::cache_in_memory_stage(options);
}

}  // namespace wick
