/// \file
/// Reading what lies in the page cache, for workers: nothing here ever waits.
#pragma once

#include <cstddef>
#include <cstdint>

#include <wick/ext/file_range.hpp>
#include <wick/ext/file_stamp.hpp>
#include <wick/io/detail/plain_file.hpp>

namespace wick::inline v0_1::detail {

/// Tells the workers where a file lies that an I/O thread has opened by this path. May block.
void note_place(const char* path, int file) noexcept;

/// Reads the parts of one sample, as far as that needs no waiting.
///
/// The kernel can be asked to look a path up in its caches alone, but it then opens the file as always, and a
/// file system that isn't local sends that to a server or a program. So only files of local file systems are
/// tried: those whose source has looked (file_range::indexed), and those by whose path an I/O thread has read
/// a neighbor. A link in the last part of a path may lead anywhere, and is left to the I/O threads.
class cached_reader {
 public:
  /// How many bytes there are; false when finding out might wait. Opens the file, one a reader.
  bool measure(const file_range& where, std::uint64_t& length) noexcept;

  /// After measure(). All `size` bytes, or false.
  bool read(const file_range& where, std::byte* to, std::size_t size) noexcept;

  /// After the last read(): whether the file still is as measured or indexed. If not, an I/O thread reads it
  /// and reports the change.
  bool unchanged() const noexcept;

 private:
  bool open(const file_range& where) noexcept;

  file_handle own_;
  file_stamp opened_;
  int last_ = -1;
  file_stamp before_;
};

}  // namespace wick::detail
