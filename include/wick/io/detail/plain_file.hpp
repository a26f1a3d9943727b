/// \file
/// Opening a path that should be a regular file: anything else is named, and never waited for.
#pragma once

#include <string>
#include <sys/stat.h>
#include <utility>

namespace wick::inline v0_1::detail {

/// A file descriptor that closes itself.
class file_handle {
 public:
  file_handle() noexcept = default;
  explicit file_handle(int fd) noexcept : fd_(fd) {}
  file_handle(file_handle&& other) noexcept : fd_(other.release()) {}
  file_handle& operator=(file_handle&& other) noexcept;
  ~file_handle() { close(); }
  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }
  int release() noexcept { return std::exchange(fd_, -1); }
  /// Whether all was written: some file systems say only here that it was not.
  bool close() noexcept;

 private:
  int fd_ = -1;
};

/// "a FIFO (named pipe)"; null for a regular file.
const char* other_than_file(::mode_t mode) noexcept;

/// "is a FIFO (named pipe), not a file; …"
std::string not_a_file(const char* what);

/// What became of opening a path for reading.
struct plain_file {
  file_handle file;
  struct ::stat about {};       ///< of the file that is open
  const char* other = nullptr;  ///< what it is, when it is no regular file; then nothing is open
  int fault = 0;                ///< errno, when it could not be opened
};

/// Opens a regular file for reading. open() of a FIFO would wait for a writer, and of a terminal or another
/// device for that device: those are recognized without waiting.
plain_file open_plain(const char* path) noexcept;

}  // namespace wick::detail
