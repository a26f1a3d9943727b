/// \file
/// Reading what lies in the page cache, for workers: nothing here ever waits.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <sys/uio.h>
#ifdef __linux__
#include <linux/openat2.h>
#include <sys/syscall.h>
#endif

#include <wick/read/file_stamp.hpp>
#include <wick/read/location.hpp>
#include <wick/system/detail/file_system.hpp>
#include <wick/system/detail/plain_file.hpp>

#if defined(__linux__) && defined(SYS_openat2) && defined(RESOLVE_CACHED) && defined(RWF_NOWAIT)
#define WICK_DETAIL_CACHED_READS 1
#endif

namespace wick::detail {

#ifdef WICK_DETAIL_CACHED_READS

/// Whether an attempt that failed so says that the kernel, or a sandbox, does not have the call at all. Any
/// other failure is that of one file, or of one moment.
constexpr bool is_call_missing(int fault) noexcept {
  return fault == ENOSYS || fault == EPERM || fault == EINVAL || fault == E2BIG || fault == EACCES;
}

int open_from_caches(const char* path, std::uint64_t flags) noexcept;

/// Tried once, with a path that there is no other reason to refuse.
bool can_open_from_caches() noexcept;

#endif

/// Tells the workers where a file lies that an I/O thread has opened by this path. May block.
void note_place(const char* path, int file) noexcept;

/// Reads the parts of one sample, as far as that needs no waiting.
///
/// The kernel can be asked to look a path up in its caches alone, but it then opens the file as always, and a
/// file system that isn't local sends that to a server or a program. So only files of local file systems are
/// tried: those whose source has looked (location::indexed), and those by whose path an I/O thread has read a
/// neighbor. A link in the last part of a path may lead anywhere, and is left to the I/O threads.
class cached_reader {
 public:
  /// How many bytes lie there; false when that can't be told now. Opens the file, one a reader.
  bool measure(const location& where, std::uint64_t& length) noexcept;

  /// After measure(). All `size` bytes, or false.
  bool read(const location& where, std::byte* to, std::size_t size) noexcept;

  /// After the last read(): whether what was read is what had been measured or indexed. Else the slow way
  /// says what happened.
  bool unchanged() const noexcept;

 private:
#ifdef WICK_DETAIL_CACHED_READS
  static std::uint64_t up_to(std::uint64_t size, std::uint64_t offset) noexcept;
  static bool may_read(bool local, std::uint64_t device) noexcept;

  bool open(const location& where) noexcept;
#endif

  file_handle own_;
  file_stamp opened_;
  int last_ = -1;
  file_stamp before_;
};

}  // namespace wick::detail

#undef WICK_DETAIL_CACHED_READS
