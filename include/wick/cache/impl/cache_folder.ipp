// Implements cache/detail/cache_folder.hpp. Included in exactly one file of a program.
#pragma once

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <system_error>
#include <time.h>
#include <unistd.h>
#include <vector>

#include <wick/cache/detail/cache_folder.hpp>
#include <wick/pipeline/error.hpp>

namespace wick::inline v0_1::detail::cache_folder {

std::string in_quotes(const std::string& path) { return '"' + printable(path) + '"'; }

void refuse(const std::string& path, const char* what, int fault) {
  throw error("cache_on_disk: " + in_quotes(path) + " can't be " + what + ": " +
              std::generic_category().message(fault) +
              "; give cache_on_disk() a folder that this process may write into");
}

bool lock(int file, int how, int milliseconds) noexcept {
  for (int i = 0; i < milliseconds; ++i) {
    if (::flock(file, how | LOCK_NB) == 0) return true;
    if (errno != EWOULDBLOCK && errno != EINTR) return false;
    constexpr ::timespec millisecond{0, 1'000'000};
    ::nanosleep(&millisecond, nullptr);
  }
  return false;
}

bool write_all(int file, std::span<const std::byte> all, std::uint64_t offset) noexcept {
  while (!all.empty()) {
    const ::ssize_t n = ::pwrite(file, all.data(), all.size(), static_cast<::off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    all = all.subspan(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
  return true;
}

bool read_all(int file, std::byte* to, std::size_t size, std::uint64_t offset) noexcept {
  while (size != 0) {
    const ::ssize_t n = ::pread(file, to, size, static_cast<::off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    to += n;
    size -= static_cast<std::size_t>(n);
    offset += static_cast<std::uint64_t>(n);
  }
  return true;
}

bool is_set_name(std::string_view name) noexcept {
  return name.size() == 16 && name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_file_of_set(std::string_view name) noexcept {
  return name == "index" || name == "in-use" || name.starts_with("segment-");
}

std::string set_path(const std::string& folder, std::uint64_t set) {
  char name[20];
  std::snprintf(name, sizeof name, "%016" PRIx64, set);
  return folder + '/' + name;
}

std::string segment_path(const std::string& set, std::uint32_t number) {
  char name[20];
  std::snprintf(name, sizeof name, "segment-%08" PRIx32, number);
  return set + '/' + name;
}

std::uint32_t segment_number(const std::string& name) noexcept {
  std::uint32_t number = 0;
  return std::sscanf(name.c_str(), "segment-%8" SCNx32, &number) == 1 ? number : 0;
}

::ssize_t read_cached(int file, std::byte* to, std::size_t size, std::uint64_t offset) noexcept {
#if defined(__linux__) && defined(RWF_NOWAIT)
  const struct ::iovec part = {to, size};
  return ::preadv2(file, &part, 1, static_cast<::off_t>(offset), RWF_NOWAIT);
#else
  static_cast<void>(file), static_cast<void>(to), static_cast<void>(size), static_cast<void>(offset);
  return -1;
#endif
}

std::uint64_t size_of_set(const std::string& folder) {
  std::uint64_t all = 0;
  std::error_code fault;
  for (std::filesystem::directory_iterator i(folder, fault), end; !fault && i != end; i.increment(fault)) {
    struct ::stat about {};
    if (is_file_of_set(i->path().filename().string()) && ::stat(i->path().c_str(), &about) == 0)
      all += static_cast<std::uint64_t>(about.st_size);
  }
  return all;
}

/// Whether an open file still has its name.
bool has_name(int file, const std::string& path) noexcept {
  struct ::stat mine {};
  struct ::stat there {};
  return ::fstat(file, &mine) == 0 && ::stat(path.c_str(), &there) == 0 && mine.st_ino == there.st_ino;
}

file_handle use(const std::string& folder) {
  const std::string path = folder + "/in-use";
  for (int tries = 0;; ++tries) {
    if (::mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST) refuse(folder, "made", errno);
    file_handle file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
    if (!file && errno == ENOENT && tries < 100) continue;  // it was just removed
    if (!file) refuse(path, "opened", errno);
    if (!lock(file.get(), LOCK_SH, 30'000)) refuse(path, "locked", errno);
    if (has_name(file.get(), path)) {
      ::futimens(file.get(), nullptr);  // the time of the last use
      return file;
    }
    if (tries == 100) refuse(path, "kept", ENOENT);
  }
}

bool remove_set(const std::string& folder) {
  const std::string path = folder + "/in-use";
  const file_handle in_use(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!in_use || ::flock(in_use.get(), LOCK_EX | LOCK_NB) != 0 || !has_name(in_use.get(), path)) return false;
  std::error_code fault;
  std::vector<std::string> files;
  for (std::filesystem::directory_iterator i(folder, fault), end; !fault && i != end; i.increment(fault)) {
    const std::string name = i->path().filename().string();
    if (is_file_of_set(name) && name != "in-use") files.push_back(i->path().string());
  }
  files.push_back(path);  // last, so that a later call finds what a killed process left
  for (const std::string& file : files) ::unlink(file.c_str());
  ::rmdir(folder.c_str());
  return true;
}

}  // namespace wick::detail::cache_folder
