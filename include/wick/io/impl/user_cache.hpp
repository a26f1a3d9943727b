/// \file
/// The bodies of what io/detail/user_cache.hpp declares. Included in exactly one file of a program.
#pragma once

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include <wick/io/detail/user_cache.hpp>
#include <wick/pipeline/fingerprint.hpp>

namespace wick::inline v0_1::detail {

std::string user_cache_path(std::string_view what, const char* extension) {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  const char* const home = std::getenv("HOME");
  const bool given = cache != nullptr && *cache == '/';
  const std::filesystem::path folder =
      (given ? std::filesystem::path(cache)
             : std::filesystem::path(home == nullptr ? "/tmp" : home) / ".cache") /
      "wick";
  std::error_code ignored;  // who opens the file sees what is wrong
  std::filesystem::create_directories(folder, ignored);
  char name[40];
  std::snprintf(name, sizeof name, "%016" PRIx64 ".%s", fingerprint_hash().add(what).value(), extension);
  return (folder / name).string();
}

}  // namespace wick::detail
