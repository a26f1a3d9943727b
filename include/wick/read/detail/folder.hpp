/// \file
/// Lists a folder without a stat for each file.
#pragma once

#include <dirent.h>
#include <sys/stat.h>

#include <cerrno>
#include <memory>
#include <string>
#include <string_view>

#include <wick/read/detail/source_file.hpp>

namespace wick::detail {

enum class entry_kind : unsigned char {
  file,    ///< a regular file, or a link that leads nowhere: reading it will say so
  folder,  ///< also through a link
  other,   ///< a device, a socket, …
};

inline entry_kind kind_of(int folder, const ::dirent& entry) noexcept {
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
  return S_ISDIR(status.st_mode) ? entry_kind::folder : entry_kind::other;
}

/// Which folder this is, whatever path led to it.
struct folder_id {
  ::dev_t device = 0;
  ::ino_t inode = 0;
  friend bool operator==(const folder_id&, const folder_id&) = default;
};

/// Calls `each(std::string_view name, entry_kind)` for all but hidden entries, in the file system's order.
/// Returns the folder's identity. \throws wick::error when it can't be listed
template <class Each>
folder_id list_folder(const std::string& path, std::string_view who, Each&& each) {
  struct closer {
    void operator()(::DIR* d) const noexcept { ::closedir(d); }
  };
  const std::unique_ptr<::DIR, closer> folder(::opendir(path.c_str()));
  struct ::stat status {};
  if (folder == nullptr || ::fstat(::dirfd(folder.get()), &status) != 0) {
    const int code = errno;
    if (code == ENOENT) throw source_error(path, who, "no such folder; check the path");
    if (code == ENOTDIR) throw source_error(path, who, "is not a folder");
    throw source_error(path, who, "the folder cannot be listed: " + system_text(code));
  }
  for (;;) {
    errno = 0;
    const ::dirent* entry = ::readdir(folder.get());
    if (entry == nullptr) break;
    if (entry->d_name[0] != '.')
      each(std::string_view(entry->d_name), kind_of(::dirfd(folder.get()), *entry));
  }
  if (errno != 0) throw source_error(path, who, "the folder cannot be listed: " + system_text(errno));
  return {status.st_dev, status.st_ino};
}

/// "a" + "b" → "a/b"; "a/" + "b" → "a/b"; "" + "b" → "b".
inline std::string join_path(std::string_view folder, std::string_view name) {
  std::string out;
  out.reserve(folder.size() + 1 + name.size());
  out += folder;
  if (!folder.empty() && folder.back() != '/') out += '/';
  out += name;
  return out;
}

}  // namespace wick::detail
