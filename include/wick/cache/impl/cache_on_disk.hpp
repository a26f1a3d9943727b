/// \file
/// The bodies of what cache/cache_on_disk.hpp declares. Included in exactly one file of a program.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include <wick/cache/cache_on_disk.hpp>
#include <wick/pipeline/error.hpp>

namespace wick {

namespace detail {

void cache_on_disk_stage::refuse_random(std::uint32_t stage) {
  throw error(
      "stage " + std::to_string(stage) +
      " of the pipeline (counted from 0) stands before it and draws random numbers, which would be the "
      "same in every epoch; write cache_on_disk() before that stage, or give it {.freeze_random = true}");
}

}  // namespace detail

detail::cache_on_disk_stage cache_on_disk(std::string folder, const detail::disk_cache_options& options) {
  if (folder.empty()) throw error("cache_on_disk: the folder has no name; give it a path");
  return {std::move(folder), options};
}

}  // namespace wick
