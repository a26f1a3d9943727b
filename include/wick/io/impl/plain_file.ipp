// Implements io/detail/plain_file.hpp. Included in exactly one file of a program.
#pragma once

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

#include <wick/io/detail/plain_file.hpp>

namespace wick::inline v0_1::detail {

file_handle& file_handle::operator=(file_handle&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

bool file_handle::close() noexcept {
  const int fd = release();
  return fd < 0 || ::close(fd) == 0 || errno == EINTR;
}

const char* other_than_file(::mode_t mode) noexcept {
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

std::string not_a_file(const char* what) {
  return std::string("is ") + what + ", not a file; give the path of a regular file, or leave it out";
}

plain_file open_plain(const char* path) noexcept {
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
  // A file server may hold a lease on a file, which it gives up on request: that is worth waiting for.
  if (out.fault == EAGAIN && looked && out.other == nullptr) {
    open(0);
    if (out.file && ::fstat(out.file.get(), &out.about) != 0) out.fault = errno;
  }
  if (out.other != nullptr || out.fault != 0) out.file.close();
  return out;
}

}  // namespace wick::detail
