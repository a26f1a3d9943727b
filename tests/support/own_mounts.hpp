// File systems that a test mounts for itself: no other process sees them, and they are gone when it ends,
// however it ends.
#pragma once

#ifdef __linux__
#include <sched.h>
#include <sys/mount.h>
#endif

#include <cstddef>
#include <filesystem>
#include <string>
#include <thread>

namespace wick_test {

/// Runs `body` on a thread with a table of mounts of its own, which the threads that it starts share. False
/// when that isn't permitted here, or `body` returns false.
template <class Body>
bool with_own_mounts(Body body) {
  bool done = false;
#ifdef __linux__
  std::thread([&] {
    if (::unshare(CLONE_NEWNS) != 0) return;
    if (::mount("none", "/", "", MS_REC | MS_PRIVATE, nullptr) != 0) return;
    done = body();
  }).join();
#else
  static_cast<void>(body);
#endif
  return done;
}

/// A file system in memory of that many bytes. False when that isn't permitted.
inline bool mount_small(const std::filesystem::path& at, std::size_t bytes) {
#ifdef __linux__
  const std::string options = "size=" + std::to_string(bytes);
  return ::mount("tmpfs", at.c_str(), "tmpfs", 0, options.c_str()) == 0;
#else
  return static_cast<void>(at), static_cast<void>(bytes), false;
#endif
}

}  // namespace wick_test
