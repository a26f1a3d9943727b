// Lists a folder without a stat call for each file.
#pragma once

#include <cerrno>
#include <compare>
#include <dirent.h>
#include <memory>
#include <string>
#include <string_view>
#include <sys/stat.h>

#include <wick/io/detail/source_file.hpp>

namespace wick::inline v0_1::detail {

enum class entry_kind : unsigned char {
  file,  ///< a regular file, or a broken link, which fails when it is read
  folder,
  link,   ///< a link to a folder
  other,  ///< a device, a socket, …
};

entry_kind kind_of(int folder, const ::dirent& entry) noexcept;

bool is_folder(entry_kind kind) noexcept;

/// Identifies a folder, whatever path led to it.
struct folder_id {
  ::dev_t device = 0;
  ::ino_t inode = 0;
  friend auto operator<=>(const folder_id&, const folder_id&) = default;
};

/// Calls `each(std::string_view name, entry_kind)` for all entries that aren't hidden, in the file system's
/// order. Returns the folder's identity. \throws wick::error when it can't be listed
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
std::string join_path(std::string_view folder, std::string_view name);

}  // namespace wick::detail
