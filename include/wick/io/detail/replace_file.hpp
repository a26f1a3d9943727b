/// \file
/// Replaces a file as a whole: a reader finds the old file or the new one, whatever stops the writer.
#pragma once

#include <cstddef>
#include <dirent.h>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <sys/file.h>
#include <sys/random.h>

#include <wick/io/detail/file_system.hpp>
#include <wick/io/detail/plain_file.hpp>

namespace wick::inline v0_1::detail {

[[noreturn]] void state_file_error(const char* what, const std::string& path, int fault, const char* advice,
                                   const char* kind = "state");

/// The file that becomes the new one: a neighbor of the old one, under a unique name until it takes the old
/// one's. If it never does, the end of its scope removes it.
///
/// As long as its writer lives, the file is locked. A file whose lock is free was left behind by a killed
/// process, and the next writer in the folder removes it. Where a lock may be known to one machine only (NFS
/// and its like), the file must be an hour old as well, and a day where there are no locks.
class neighbor_file {
 public:
  /// Makes it in `folder`, an open one. `mode` is what open() gets, so that the umask holds.
  neighbor_file(int folder, ::mode_t mode) noexcept;
  neighbor_file(const neighbor_file&) = delete;
  neighbor_file& operator=(const neighbor_file&) = delete;
  ~neighbor_file() { discard(); }

  int get() const noexcept { return file_.get(); }
  /// errno, when it could not be made.
  int fault() const noexcept { return fault_; }

  /// False: errno says why.
  bool write(std::span<const std::byte> bytes) noexcept;
  /// Brings it to the disk. Some file systems say only at its end that not all was written: close a second
  /// descriptor, since the lock lies on this one.
  bool sync() noexcept;
  bool rename_to(const char* name) noexcept;

  /// Removes what killed writers left behind in `folder`.
  static void tidy_up(int folder) noexcept;

 private:
  static constexpr std::string_view prefix = ".wick-writing-";
  static constexpr std::size_t digits = 16;

  static bool is_name(std::string_view name) noexcept;
  static void remove_if_left(int folder, const char* name, bool local) noexcept;
  void choose_name() noexcept;
  void discard() noexcept;

  int folder_;
  int fault_ = 0;
  file_handle file_;
  char name_[prefix.size() + digits + 1] = {};
};

/// Writes the file that takes the place of the one at `path`, piece by piece; without commit() that one
/// stays. `kind` is its name in errors. A link there is replaced, not what it leads to.
class file_replacement {
 public:
  /// \throws wick::error when it can't be begun
  file_replacement(const std::string& path, const char* kind);
  /// \throws wick::error, and the old file is as it was
  void write(std::span<const std::byte> bytes);
  void commit();

 private:
  [[noreturn]] void failed(const char* what, int fault) const;

  std::string path_, name_;
  const char* kind_;
  file_handle folder_;
  std::optional<neighbor_file> next_;
};

/// Replaces the file at `path` by these bytes; `kind` is its name in errors. A link there is replaced, not
/// what it leads to. \throws wick::error when a step fails, and the old file is as it was
void replace_file(const std::string& path, std::span<const std::byte> bytes, const char* kind);

}  // namespace wick::detail
