// Implements cache/cache_in_memory.hpp. Included in exactly one file of a program.
#pragma once

#include <wick/cache/cache_in_memory.hpp>

namespace wick::inline v0_1 {

detail::cache_in_memory_stage cache_in_memory(const cache_in_memory_options& options) {
  return detail::cache_in_memory_stage(options);
}

}  // namespace wick
