// Opens a path that should be a regular file. Anything else is named, without waiting for it.
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
  /// Whether everything was written: some file systems report a failed write only here.
  bool close() noexcept;

 private:
  int fd_ = -1;
};

/// "a FIFO (named pipe)"; null for a regular file.
const char* other_than_file(::mode_t mode) noexcept;

/// "is a FIFO (named pipe), not a file; …"
std::string not_a_file(const char* what);

/// The result of opening a path for reading.
struct plain_file {
  file_handle file;
  struct ::stat about {};       ///< of the open file
  const char* other = nullptr;  ///< what the path is, if it isn't a regular file; then nothing is open
  int fault = 0;                ///< errno, if it couldn't be opened
};

/// Opens a regular file for reading. open() would wait for a FIFO's writer, or for a terminal or another
/// device; this recognizes them without waiting.
plain_file open_plain(const char* path) noexcept;

}  // namespace wick::detail
