// Implements io/detail/kept_file.hpp. Included in exactly one file of a program.
#pragma once

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

#include <wick/ext/file_stamp.hpp>
#include <wick/io/detail/kept_file.hpp>
#include <wick/io/detail/plain_file.hpp>

namespace wick::inline v0_1::detail {

bool reopen_kept(const file_range& where) {
  if (where.indexed == nullptr || where.remote != nullptr) return false;
  plain_file again = open_plain(where.path);
  if (again.fault == ESTALE) again = open_plain(where.path);  // the client's cached folder was stale
  if (!again.file) return false;
  require_same(
      *where.indexed, file_stamp::of(again.about), "indexed",
      "make the source and the loader again, and give a changed file a new name while the old one is "
      "read");
#ifdef __linux__
  return ::dup3(again.file.get(), where.file, O_CLOEXEC) >= 0;
#else
  return ::dup2(again.file.get(), where.file) >= 0 && ::fcntl(where.file, F_SETFD, FD_CLOEXEC) == 0;
#endif
}

}  // namespace wick::detail
