// The stamp that shows read() that a file is no longer the one that a source indexed.
#pragma once

#include <cstdint>
#include <sys/stat.h>

#include <wick/io/detail/file_io.hpp>
#include <wick/io/detail/file_system.hpp>

namespace wick::inline v0_1::ext {

class fingerprint_hash;

/// The identity and the state of a file. A source that has looked into a file keeps its stamp, and passes the
/// stamp's address with each range of that file.
struct file_stamp {
  std::uint64_t device = 0, inode = 0, size = 0;
  std::int64_t seconds = 0, nanoseconds = 0;  ///< of its last change
  bool linked = false;                        ///< the file has a name
  bool local = false;                         ///< only this machine's kernel serves its file system

  /// The stamp of an open file. Asks the file system, so it may block. \throws wick::error if it isn't a
  /// regular file
  static file_stamp of(int file);
  /// The stamp from fstat's result; `local` stays false.
  static file_stamp of(const struct ::stat& about) noexcept;

  /// Whether the time of the last change distinguishes one state of the file from the next. It doesn't right
  /// after a change: file systems' clocks tick some 100 times a second, and some once in two seconds.
  bool settled() const noexcept;
  /// Adds the size and the time of the last change.
  void add_to(fingerprint_hash& h) const noexcept;
  /// The change to the file, as far as it shows; null if it is the same file, unchanged. On file systems that
  /// aren't the kernel's alone (NFS, FUSE), device and inode numbers may be reused, so they don't count.
  const char* change(const file_stamp& now) const noexcept;
};

}  // namespace wick::ext

namespace wick::inline v0_1::detail {

using namespace ext;

/// \throws wick::error "was changed since it was indexed (it had 100 bytes, and has 200); …" when it was
void require_same(const file_stamp& then, const file_stamp& now, const char* since, const char* advice);

/// The stamp of a file that is being read, taken at the beginning.
struct file_watch {
  file_stamp before;

  /// `indexed` may be null. \throws wick::error if it isn't the file that was indexed, or isn't a file
  static file_watch begin(int file, const file_stamp* indexed);
  /// Call it after reading the last byte: it finds any change before that. \throws wick::error
  void end(int file, const file_stamp* indexed);
};

}  // namespace wick::detail
