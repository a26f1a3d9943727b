// Replaces a file as a whole: a reader finds the old file or the new one, even if the writer is killed.
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

/// The new file: next to the old one, under a unique name until it takes the old one's. If it never does, the
/// destructor removes it.
///
/// The file is locked as long as its writer runs. A file whose lock is free was left by a killed process, and
/// the next writer in the folder removes it. If other machines may not see the lock (NFS and the like), the
/// file must also be an hour old, or a day if there are no locks.
class neighbor_file {
 public:
  /// Creates it in the open folder `folder`. `mode` is passed to open(), so the umask applies.
  neighbor_file(int folder, ::mode_t mode) noexcept;
  neighbor_file(const neighbor_file&) = delete;
  neighbor_file& operator=(const neighbor_file&) = delete;
  ~neighbor_file() { discard(); }

  int get() const noexcept { return file_.get(); }
  /// errno if it couldn't be created.
  int fault() const noexcept { return fault_; }

  /// On false, errno says why.
  bool write(std::span<const std::byte> bytes) noexcept;
  /// Flushes it to the disk. Some file systems report a failed write only at close(), so this closes a second
  /// descriptor; the first one holds the lock.
  bool sync() noexcept;
  bool rename_to(const char* name) noexcept;

  /// Removes the files that killed writers left in `folder`.
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

/// Writes a file piece by piece, which commit() puts in place of the one at `path`; without commit(), that
/// one stays. `kind` is its name in errors. If `path` is a link, the link is replaced, not its target.
class file_replacement {
 public:
  /// \throws wick::error if it can't be created
  file_replacement(const std::string& path, const char* kind);
  /// \throws wick::error, and the old file is unchanged
  void write(std::span<const std::byte> bytes);
  void commit();

 private:
  [[noreturn]] void failed(const char* what, int fault) const;

  std::string path_, name_;
  const char* kind_;
  file_handle folder_;
  std::optional<neighbor_file> next_;
};

/// Replaces the file at `path` by these bytes; `kind` is its name in errors. If `path` is a link, the link is
/// replaced, not its target. \throws wick::error if a step fails; the old file is then unchanged
void replace_file(const std::string& path, std::span<const std::byte> bytes, const char* kind);

}  // namespace wick::detail
