// Implements io/detail/file_io.hpp. Included in exactly one file of a program.
#pragma once

#include <string>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <wick/io/detail/file_io.hpp>

namespace wick::inline v0_1::detail {

bool may_pass(int code) noexcept {
  switch (code) {
    case EIO:
    case ENXIO:
    case ENODEV:
    case EAGAIN:
    case EBUSY:
    case EINTR:
    case ENOMEM:
    case ENFILE:
    case EMFILE:
    case ENOLCK:
    case ENOBUFS:
    case ESTALE:
    case ETIMEDOUT:
    case ENOTCONN:
    case ENETDOWN:
    case ENETUNREACH:
    case ENETRESET:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case ECONNREFUSED:
    case ECONNRESET:
    case ECONNABORTED:
    case ECANCELED:
#ifdef EREMOTEIO
    case EREMOTEIO:
#endif
      return true;
    default:
      return false;
  }
}

void throw_io(const char* doing, int code) {
  const std::string text = std::string("can't ") + doing + " it: " + std::generic_category().message(code) +
                           (is_out_of_descriptors(code) ? "; raise the limit on open files (ulimit -n)" : "");
  if (may_pass(code)) throw passing_read_failure(text);
  throw read_failure(text);
}

file_handle checked_file(plain_file opened) {
  if (opened.other != nullptr) throw error(not_a_file(opened.other));
  if (opened.fault != 0) throw_io("open", opened.fault);
  return std::move(opened.file);
}

std::uint64_t regular_size(const struct stat& about) {
  if (const char* other = other_than_file(about.st_mode)) throw error(not_a_file(other));
  return static_cast<std::uint64_t>(about.st_size);
}

std::uint64_t size_of_file(int fd) {
  struct stat about;
  if (::fstat(fd, &about) != 0) throw_io("look at", errno);
  return regular_size(about);
}

std::uint64_t size_of_file(const char* path) {
  struct stat about;
  if (::stat(path, &about) != 0) throw_io("open", errno);
  return regular_size(about);
}

std::size_t read_up_to(int fd, std::byte* to, std::size_t size, std::uint64_t offset) {
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

}  // namespace wick::detail
