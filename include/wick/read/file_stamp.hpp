/// \file
/// By what read() sees that a file is no longer the one that a source has looked at.
#pragma once

#include <cerrno>
#include <cstdint>
#include <string>
#include <sys/stat.h>

#include <wick/read/detail/file_io.hpp>
#include <wick/sample/error.hpp>
#include <wick/system/detail/file_system.hpp>

namespace wick::detail {

/// Which file it is, and in which state. A source that has looked into a file keeps one, and gives its
/// address with each location in that file.
struct file_stamp {
  std::uint64_t device = 0, inode = 0, size = 0;
  std::int64_t seconds = 0, nanoseconds = 0;  ///< of its last change
  bool linked = false;                        ///< it has a name
  bool local = false;  ///< its file system is in the hands of this machine's kernel alone

  /// Of an open file. Asks the file system, so it may block. \throws wick::error for what is no regular file
  static file_stamp of(int file) {
    struct ::stat about {};
    if (::fstat(file, &about) != 0) detail::throw_io("look at", errno);
    detail::regular_size(about);
    file_stamp out = of(about);
    out.local = detail::is_local(file);
    return out;
  }
  /// Of what fstat said; `local` stays false.
  static file_stamp of(const struct ::stat& about) noexcept {
#ifdef __APPLE__
    const ::timespec& changed = about.st_mtimespec;
#else
    const ::timespec& changed = about.st_mtim;
#endif
    return {.device = static_cast<std::uint64_t>(about.st_dev),
            .inode = static_cast<std::uint64_t>(about.st_ino),
            .size = static_cast<std::uint64_t>(about.st_size),
            .seconds = changed.tv_sec,
            .nanoseconds = changed.tv_nsec,
            .linked = about.st_nlink != 0};
  }

  /// What has happened to the file, as far as it shows; null when it is the same file, and as it was. Where
  /// others than the kernel answer (NFS, FUSE), device and inode are numbers that may be given anew, and
  /// don't count.
  const char* change(const file_stamp& now) const noexcept {
    if (local && (now.device != device || now.inode != inode)) return "was replaced";
    if (now.size != size || now.seconds != seconds || now.nanoseconds != nanoseconds) return "was changed";
    if (linked && !now.linked) return "was deleted or replaced";
    return nullptr;
  }
};

/// \throws wick::error "was changed since it was indexed (it had 100 bytes, and has 200); …" when it was
inline void require_same(const file_stamp& then, const file_stamp& now, const char* since,
                         const char* advice) {
  const char* const what = then.change(now);
  if (what == nullptr) return;
  std::string sizes;
  if (then.size != now.size)
    sizes = " (it had " + std::to_string(then.size) + " bytes, and has " + std::to_string(now.size) + ")";
  throw error(std::string("the file ") + what + " since it was " + since + sizes + "; " + advice);
}

/// A file that is being read: what it was when that began.
struct file_watch {
  file_stamp before;

  /// `indexed` may be null. \throws wick::error when it is not the file that was indexed, or not a file
  static file_watch begin(int file, const file_stamp* indexed) {
    struct ::stat about {};
    if (::fstat(file, &about) != 0) throw_io("look at", errno);
    regular_size(about);
    const file_watch out{file_stamp::of(about)};
    if (indexed != nullptr) {
      require_same(*indexed, out.before, "indexed",
                   "make the source and the loader anew, and give a changed file a new name while the old "
                   "one is read");
    }
    return out;
  }
  /// To be called when the bytes are there: whoever has changed them before is seen now. \throws wick::error
  void end(int file, const file_stamp* indexed) {
    const file_watch after = begin(file, indexed);
    before.linked = false;  // whoever has it open may read it, though it has lost its name
    require_same(before, after.before, "opened",
                 "let its writer end before it is read, or write under another name and rename it");
  }
};

}  // namespace wick::detail
