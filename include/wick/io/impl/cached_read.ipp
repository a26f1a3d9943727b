// Implements io/detail/cached_read.hpp. Included in exactly one file of a program.
#pragma once

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#endif

#include <wick/io/detail/cached_read.hpp>
#include <wick/io/detail/file_system.hpp>
#include <wick/io/detail/known_folders.hpp>

#if defined(__linux__) && defined(SYS_openat2) && defined(RESOLVE_CACHED) && defined(RWF_NOWAIT)
#define WICK_DETAIL_CACHED_READS 1
#endif

namespace wick::inline v0_1::detail {

#ifdef WICK_DETAIL_CACHED_READS
namespace cached {

/// Whether this error means that the kernel or a sandbox lacks the call. Any other error concerns one file,
/// or is temporary.
constexpr bool is_call_missing(int fault) noexcept {
  return fault == ENOSYS || fault == EPERM || fault == EINVAL || fault == E2BIG || fault == EACCES;
}

inline int open(const char* path, std::uint64_t flags) noexcept {
  struct open_how how = {};
  how.flags = flags | O_CLOEXEC;
  how.resolve = RESOLVE_CACHED;
  return static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how)));
}

/// Tried once, with a path that can't fail for any other reason.
inline bool can_open() noexcept {
  static const bool can = [] {
    const file_handle root(open("/", O_PATH));
    return root || !is_call_missing(errno);
  }();
  return can;
}

/// Gets the length from the range's offset to the end of a file of `size` bytes. False if it begins past the
/// end.
inline bool measure_to_end(const file_range& where, std::uint64_t size, std::uint64_t& length) noexcept {
  length = size - where.offset;
  return where.offset <= size;
}

/// Gets the device of a file by its path, without asking its file system, and opens the file if that device
/// is local. -1: an I/O thread must open it.
inline int open_on_local_device(const char* path, std::uint64_t flags, std::uint64_t& device) noexcept {
#ifdef STATX_TYPE
  const file_handle place(open(path, O_PATH | O_NOFOLLOW));
  struct ::statx about {};
  if (!place || ::statx(place.get(), "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &about) != 0) return -1;
  device = ::makedev(about.stx_dev_major, about.stx_dev_minor);
  const known_folders& known = known_folders::all();
  if (!known.is_local_device(device) || !known.tells_what_is_cached(device)) return -1;
  char name[32];
  std::snprintf(name, sizeof name, "/proc/self/fd/%d", place.get());
  return ::open(name, static_cast<int>(flags & ~std::uint64_t{O_NOFOLLOW}) | O_CLOEXEC);
#else
  static_cast<void>(path), static_cast<void>(flags), static_cast<void>(device);
  return -1;
#endif
}

inline bool may_read(bool local, std::uint64_t device) noexcept {
  return local && known_folders::all().tells_what_is_cached(device);
}

}  // namespace cached
#endif

void note_place(const char* path, int file) noexcept {
#ifdef WICK_DETAIL_CACHED_READS
  known_folders& known = known_folders::all();
  const std::uint64_t folder = known_folders::folder_of(path);
  const known_folders::place there = known.find(folder);
  struct ::stat about {};
  if (there.what == known_folders::remote || ::fstat(file, &about) != 0) return;
  const auto device = static_cast<std::uint64_t>(about.st_dev);
  if (there.what == known_folders::local && there.device == device) return;
  // A link's target says nothing about the folder that contains the link.
  struct ::stat name {};
  if (::lstat(path, &name) != 0 || S_ISLNK(name.st_mode)) return;
  if (is_local(file))
    known.note_local(folder, device);
  else
    known.note_remote(folder);
#else
  (void)path, (void)file;
#endif
}

bool may_read_cached(const file_stamp& indexed) noexcept {
#ifdef WICK_DETAIL_CACHED_READS
  return cached::may_read(indexed.local, indexed.device);
#else
  static_cast<void>(indexed);
  return false;
#endif
}

std::uint64_t read_cached(int file, std::span<::iovec> to, std::uint64_t offset,
                          std::uint64_t device) noexcept {
  std::uint64_t done = 0;
#ifdef WICK_DETAIL_CACHED_READS
  while (!to.empty()) {
    const ::ssize_t n = ::preadv2(file, to.data(), static_cast<int>(to.size()),
                                  static_cast<::off_t>(offset + done), RWF_NOWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EOPNOTSUPP || errno == ENOSYS || errno == EPERM))
      known_folders::all().note_silent(device);
    if (n <= 0) break;
    done += static_cast<std::uint64_t>(n);
    auto left = static_cast<std::size_t>(n);
    while (!to.empty() && left >= to.front().iov_len) {
      left -= to.front().iov_len;
      to = to.subspan(1);
    }
    if (left == 0) continue;
    to.front().iov_base = static_cast<std::byte*>(to.front().iov_base) + left;
    to.front().iov_len -= left;
  }
#else
  static_cast<void>(file), static_cast<void>(to), static_cast<void>(offset), static_cast<void>(device);
#endif
  return done;
}

bool cached_reader::measure(const file_range& where, std::uint64_t& length) noexcept {
#ifdef WICK_DETAIL_CACHED_READS
  length = where.length;
  if (where.indexed != nullptr && !may_read_cached(*where.indexed)) return false;
  if (where.file >= 0) {
    if (where.indexed == nullptr) return false;
    return length != file_range::whole || cached::measure_to_end(where, where.indexed->size, length);
  }
  if (!open(where)) return false;
  return length != file_range::whole || cached::measure_to_end(where, opened_.size, length);
#else
  (void)where, (void)length;
  return false;
#endif
}

bool cached_reader::read(const file_range& where, std::byte* to, std::size_t size) noexcept {
  const int file = where.file >= 0 ? where.file : own_.get();
  if (file != last_ && !unchanged()) return false;
  last_ = file;
  before_ = where.file >= 0 ? *where.indexed : opened_;
  ::iovec all = {to, size};
  return size == 0 || read_cached(file, {&all, 1}, where.offset, before_.device) == size;
}

bool cached_reader::unchanged() const noexcept {
  struct ::stat about {};
  return last_ < 0 || (::fstat(last_, &about) == 0 && before_.change(file_stamp::of(about)) == nullptr);
}

bool cached_reader::open(const file_range& where) noexcept {
#ifdef WICK_DETAIL_CACHED_READS
  if (!cached::can_open()) return false;
  constexpr std::uint64_t flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW;
  known_folders& known = known_folders::all();
  std::uint64_t folder = 0;
  bool new_folder = false;
  if (where.indexed == nullptr) {
    folder = known_folders::folder_of(where.path);
    const known_folders::place there = known.find(folder);
    new_folder = there.what == known_folders::unknown;
    if (!new_folder && !cached::may_read(there.what == known_folders::local, there.device)) return false;
    opened_.device = there.device;
  } else {
    opened_.device = where.indexed->device;
  }
  own_ = file_handle(new_folder ? cached::open_on_local_device(where.path, flags, opened_.device)
                                : cached::open(where.path, flags));
  struct ::stat about {};
  if (!own_ || ::fstat(own_.get(), &about) != 0 || !S_ISREG(about.st_mode)) return false;
  const std::uint64_t device = opened_.device;
  opened_ = file_stamp::of(about);
  opened_.local = true;
  if (opened_.device == device && new_folder) known.note_local(folder, device);
  if (opened_.device == device) return where.indexed == nullptr || where.indexed->change(opened_) == nullptr;
  if (folder != 0) known.forget(folder);  // something else was mounted there
  return false;
#else
  (void)where;
  return false;
#endif
}

}  // namespace wick::detail

#undef WICK_DETAIL_CACHED_READS
