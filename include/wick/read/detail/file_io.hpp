/// \file
/// Opening and reading files: blocking, for I/O threads, and without ever blocking, for workers.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/openat2.h>
#include <sys/syscall.h>
#endif

#include <wick/flow/error.hpp>

namespace wick::detail {

/// A file descriptor that closes itself.
class file_handle {
 public:
  file_handle() noexcept = default;
  explicit file_handle(int fd) noexcept : fd_(fd) {}
  file_handle(file_handle&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  file_handle& operator=(file_handle&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~file_handle() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

[[noreturn]] inline void throw_io(const char* doing, int code) {
  throw error(std::string("can't ") + doing + " it: " + std::generic_category().message(code) +
              (code == EMFILE ? "; raise the limit on open files (ulimit -n)" : ""));
}

/// \throws wick::error
inline file_handle open_file(const char* path) {
  int fd;
  do {
    fd = ::open(path, O_RDONLY | O_CLOEXEC);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) throw_io("open", errno);
  return file_handle(fd);
}

/// \throws wick::error for what is no regular file
inline std::uint64_t regular_size(const struct stat& about) {
  if (!S_ISREG(about.st_mode)) throw error(S_ISDIR(about.st_mode) ? "is a folder, not a file" : "is no regular file");
  return static_cast<std::uint64_t>(about.st_size);
}

/// \throws wick::error for what is no regular file
inline std::uint64_t size_of_file(int fd) {
  struct stat about;
  if (::fstat(fd, &about) != 0) throw_io("look at", errno);
  return regular_size(about);
}

/// The same without opening it. Blocks.
inline std::uint64_t size_of_file(const char* path) {
  struct stat about;
  if (::stat(path, &about) != 0) throw_io("open", errno);
  return regular_size(about);
}

/// How many of `size` bytes were read; fewer only at the end of the file.
inline std::size_t read_up_to(int fd, std::byte* to, std::size_t size, std::uint64_t offset) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t n = ::pread(fd, to + done, size - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw_io("read", errno);
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  return done;
}

/// Opens what the kernel can open from its caches alone; nothing when it would have to wait (or can't tell).
inline file_handle open_cached(const char* path) noexcept {
#if defined(__linux__) && defined(SYS_openat2) && defined(RESOLVE_CACHED)
  static constinit std::atomic<bool> supported{true};
  if (!supported.load(std::memory_order_relaxed)) return {};
  struct open_how how = {};
  how.flags = O_RDONLY | O_CLOEXEC;
  how.resolve = RESOLVE_CACHED;
  const long fd = ::syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
  if (fd < 0 && errno != EAGAIN && errno != ENOENT && errno != EACCES) supported.store(false, std::memory_order_relaxed);
  return file_handle(static_cast<int>(fd < 0 ? -1 : fd));
#else
  (void)path;
  return {};
#endif
}

/// Reads what lies in the page cache: all `size` bytes, or false.
inline bool read_cached(int fd, std::byte* to, std::size_t size, std::uint64_t offset) noexcept {
#if defined(__linux__) && defined(RWF_NOWAIT)
  static constinit std::atomic<bool> supported{true};
  if (!supported.load(std::memory_order_relaxed)) return false;
  std::size_t done = 0;
  while (done < size) {
    const struct iovec part = {to + done, size - done};
    const ssize_t n = ::preadv2(fd, &part, 1, static_cast<off_t>(offset + done), RWF_NOWAIT);
    if (n > 0) {
      done += static_cast<std::size_t>(n);
      continue;
    }
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EOPNOTSUPP) supported.store(false, std::memory_order_relaxed);
    return false;
  }
  return true;
#else
  (void)fd, (void)to, (void)size, (void)offset;
  return false;
#endif
}

}  // namespace wick::detail
