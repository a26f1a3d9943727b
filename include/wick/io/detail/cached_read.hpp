// Reads from the page cache, for workers: nothing here ever waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <sys/uio.h>

#include <wick/ext/file_range.hpp>
#include <wick/ext/file_stamp.hpp>
#include <wick/io/detail/plain_file.hpp>

namespace wick::inline v0_1::detail {

/// Tells the workers where a file is that an I/O thread has opened by this path. May block.
void note_place(const char* path, int file) noexcept;

/// Whether the kernel reads an indexed file's cached bytes without waiting for the others.
bool may_read_cached(const file_stamp& indexed) noexcept;

/// Reads a file from `offset` on into the parts of `to`, as far as it is cached; returns the number of bytes.
std::uint64_t read_cached(int file, std::span<::iovec> to, std::uint64_t offset,
                          std::uint64_t device) noexcept;

/// Reads the parts of one sample, as far as possible without waiting.
///
/// The kernel can be asked to look a path up in its caches only, but it then opens the file as usual, and a
/// file system that isn't local sends that to a server or a program. So only files on local file systems are
/// tried: those that their source has indexed (file_range::indexed), and those in a folder from which an I/O
/// thread has read a file. A link as the last part of a path may lead anywhere, and is left to the I/O
/// threads.
class cached_reader {
 public:
  /// Gets the number of bytes; false if finding out might wait. Opens the file; a reader opens only one.
  bool measure(const file_range& where, std::uint64_t& length) noexcept;

  /// Call it after measure(). Reads all `size` bytes, or returns false.
  bool read(const file_range& where, std::byte* to, std::size_t size) noexcept;

  /// Call it after the last read(). Whether the file is still as measured or indexed. If not, an I/O thread
  /// reads it and reports the change.
  bool unchanged() const noexcept;

 private:
  bool open(const file_range& where) noexcept;

  file_handle own_;
  file_stamp opened_;
  int last_ = -1;
  file_stamp before_;
};

}  // namespace wick::detail
