// Implements io/detail/user_cache.hpp. Included in exactly one file of a program.
#pragma once

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include <wick/ext/fingerprint.hpp>
#include <wick/io/detail/user_cache.hpp>

namespace wick::inline v0_1::detail {

namespace {

/// The variable's value if it is an absolute path, else empty.
std::filesystem::path folder_in(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr && *value == '/' ? value : "";
}

/// For a user without a home. Others can write to folders for temporary files, too, so this one must belong
/// to this user alone; else empty.
std::filesystem::path folder_without_home() {
  std::filesystem::path base = folder_in("TMPDIR");
  if (base.empty()) base = "/tmp";
  std::filesystem::path folder = base / ("wick-" + std::to_string(::geteuid()));
  ::mkdir(folder.c_str(), 0700);
  struct ::stat found {};
  const bool own = ::lstat(folder.c_str(), &found) == 0 && S_ISDIR(found.st_mode) &&
                   found.st_uid == ::geteuid() && (found.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  return own ? folder : std::filesystem::path();
}

}  // namespace

std::string user_cache_path(std::string_view what, const char* extension) {
  std::filesystem::path folder = folder_in("XDG_CACHE_HOME");
  if (folder.empty() && !folder_in("HOME").empty()) folder = folder_in("HOME") / ".cache";
  if (!folder.empty()) {
    folder /= "wick";
    std::error_code ignored;  // the code that opens the file reports errors
    std::filesystem::create_directories(folder, ignored);
  } else if (folder = folder_without_home(); folder.empty()) {
    return {};
  }
  char name[40];
  std::snprintf(name, sizeof name, "%016" PRIx64 ".%s", fingerprint_hash().add(what).value(), extension);
  return (folder / name).string();
}

}  // namespace wick::detail
