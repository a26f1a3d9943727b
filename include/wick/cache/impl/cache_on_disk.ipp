// Implements cache/cache_on_disk.hpp. Included in exactly one file of a program.
#pragma once

#include <wick/cache/cache_on_disk.hpp>
#include <wick/pipeline/error.hpp>

namespace wick::inline v0_1 {

detail::cache_on_disk_stage cache_on_disk(std::string folder, const cache_on_disk_options& options) {
  if (folder.empty()) throw error("cache_on_disk: the folder has no name; give it a path");
  return {std::move(folder), options};
}

}  // namespace wick
