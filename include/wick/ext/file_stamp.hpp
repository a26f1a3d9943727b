/// \file
/// The stamp by which read() sees that a file is no longer the one that a source indexed.
#pragma once

#include <cstdint>
#include <sys/stat.h>

#include <wick/io/detail/file_io.hpp>
#include <wick/io/detail/file_system.hpp>

namespace wick::inline v0_1 {

class fingerprint_hash;

/// Which file it is, and in which state. A source that has looked into a file keeps one, and gives its
/// address with each range of that file.
struct file_stamp {
  std::uint64_t device = 0, inode = 0, size = 0;
  std::int64_t seconds = 0, nanoseconds = 0;  ///< of its last change
  bool linked = false;                        ///< it has a name
  bool local = false;  ///< its file system is in the hands of this machine's kernel alone

  /// Of an open file. Asks the file system, so it may block. \throws wick::error for what is no regular file
  static file_stamp of(int file);
  /// Of what fstat said; `local` stays false.
  static file_stamp of(const struct ::stat& about) noexcept;

  /// Whether the time of its last change tells one state of it from the next: not if that was just now, since
  /// file systems' clocks tick some 100 times a second, some once in two.
  bool settled() const noexcept;
  /// The size and the time of the last change.
  void add_to(fingerprint_hash& h) const noexcept;
  /// What has happened to the file, as far as it shows; null when it is the same file, and unchanged. On file
  /// systems that others than the kernel serve (NFS, FUSE), device and inode are numbers that may be reused,
  /// and don't count.
  const char* change(const file_stamp& now) const noexcept;
};

namespace detail {

/// \throws wick::error "was changed since it was indexed (it had 100 bytes, and has 200); …" when it was
void require_same(const file_stamp& then, const file_stamp& now, const char* since, const char* advice);

/// A file that is being read: what it was when that began.
struct file_watch {
  file_stamp before;

  /// `indexed` may be null. \throws wick::error when it is not the file that was indexed, or not a file
  static file_watch begin(int file, const file_stamp* indexed);
  /// Call it after the last byte is read: it finds any change before that. \throws wick::error
  void end(int file, const file_stamp* indexed);
};

}  // namespace detail

}  // namespace wick
