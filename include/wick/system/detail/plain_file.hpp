/// \file
/// Opening a path that should be a regular file: what is none is named, and never waited for.
#pragma once

#include <cerrno>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace wick::detail {

/// A file descriptor that closes itself.
class file_handle {
 public:
  file_handle() noexcept = default;
  explicit file_handle(int fd) noexcept : fd_(fd) {}
  file_handle(file_handle&& other) noexcept : fd_(other.release()) {}
  file_handle& operator=(file_handle&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~file_handle() { close(); }
  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }
  int release() noexcept { return std::exchange(fd_, -1); }
  /// Whether all was written: some file systems say only here that it was not.
  bool close() noexcept {
    const int fd = release();
    return fd < 0 || ::close(fd) == 0 || errno == EINTR;
  }

 private:
  int fd_ = -1;
};

/// "a FIFO (named pipe)"; null for a regular file.
inline const char* other_than_file(::mode_t mode) noexcept {
  switch (mode & S_IFMT) {
    case S_IFREG:
      return nullptr;
    case S_IFDIR:
      return "a folder";
    case S_IFIFO:
      return "a FIFO (named pipe)";
    case S_IFSOCK:
      return "a socket";
    case S_IFCHR:
      return "a character device";
    case S_IFBLK:
      return "a block device";
    default:
      return "neither a file nor a folder";
  }
}

/// "is a FIFO (named pipe), not a file; …"
inline std::string not_a_file(const char* what) {
  return std::string("is ") + what + ", not a file; give the path of a regular file, or leave it out";
}

/// What became of opening a path for reading.
struct plain_file {
  file_handle file;
  struct ::stat about {};       ///< of the file that is open
  const char* other = nullptr;  ///< what it is, when it is no regular file; then nothing is open
  int fault = 0;                ///< errno, when it could not be opened
};

/// Opens a regular file for reading. A FIFO would make open() wait for somebody who writes into it, and a
/// terminal or another device for what it stands for: those are recognized without waiting.
inline plain_file open_plain(const char* path) noexcept {
  plain_file out;
  const auto open = [&](int more) {
    int fd;
    do {
      fd = ::open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | more);
    } while (fd < 0 && errno == EINTR);
    out.file = file_handle(fd);
    out.fault = fd < 0 ? errno : 0;
  };
  open(O_NONBLOCK);
  const bool looked = out.file ? ::fstat(out.file.get(), &out.about) == 0 : ::stat(path, &out.about) == 0;
  if (looked) out.other = other_than_file(out.about.st_mode);
  if (out.file && !looked) out.fault = errno;
  // A file server may hold a lease on a file, which it gives up when it is asked: that is worth waiting for.
  if (out.fault == EAGAIN && looked && out.other == nullptr) {
    open(0);
    if (out.file && ::fstat(out.file.get(), &out.about) != 0) out.fault = errno;
  }
  if (out.other != nullptr || out.fault != 0) out.file.close();
  return out;
}

}  // namespace wick::detail
