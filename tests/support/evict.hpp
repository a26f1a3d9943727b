// A file that is no longer in the page cache.
#pragma once

#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

#include "doctest.hpp"

namespace wick_test {

inline void evict(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  REQUIRE(fd >= 0);
  ::fdatasync(fd);
  ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  ::close(fd);
}

}  // namespace wick_test
