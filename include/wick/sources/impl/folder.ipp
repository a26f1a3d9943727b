// Implements sources/detail/folder.hpp. Included in exactly one file of a program.
#pragma once

#include <fcntl.h>

#include <wick/sources/detail/folder.hpp>

namespace wick::inline v0_1::detail {

entry_kind kind_of(int folder, const ::dirent& entry) noexcept {
  switch (entry.d_type) {
    case DT_REG:
      return entry_kind::file;
    case DT_DIR:
      return entry_kind::folder;
    case DT_LNK:
    case DT_UNKNOWN:
      break;
    default:
      return entry_kind::other;
  }
  struct ::stat status {};
  if (::fstatat(folder, entry.d_name, &status, 0) != 0 || S_ISREG(status.st_mode)) return entry_kind::file;
  if (!S_ISDIR(status.st_mode)) return entry_kind::other;
  if (entry.d_type == DT_LNK) return entry_kind::link;
  // Some file systems don't say what an entry is.
  struct ::stat own {};
  const bool link = ::fstatat(folder, entry.d_name, &own, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(own.st_mode);
  return link ? entry_kind::link : entry_kind::folder;
}

bool is_folder(entry_kind kind) noexcept { return kind == entry_kind::folder || kind == entry_kind::link; }

std::string join_path(std::string_view folder, std::string_view name) {
  std::string out;
  out.reserve(folder.size() + 1 + name.size());
  out += folder;
  if (!folder.empty() && folder.back() != '/') out += '/';
  out += name;
  return out;
}

}  // namespace wick::detail
