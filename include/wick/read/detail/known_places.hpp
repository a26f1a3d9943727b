/// \file
/// What this process has found out about folders and devices, for workers that may not ask.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace wick::detail {

/// A map of 64 bits to 64 bits that only grows. Any thread, at any time: it neither locks nor moves an entry,
/// so a forked child may go on with it, and it never gives memory back, so the last thread of a process may
/// still ask. What finds no room any more, or no memory, is forgotten.
class growing_map {
 public:
  /// 0 when nothing was noted.
  std::uint64_t find(std::uint64_t key) const noexcept;
  /// `key` is not 0.
  void note(std::uint64_t key, std::uint64_t value) noexcept;

  /// Blocks of memory that it has taken.
  std::size_t blocks() const noexcept;

 private:
  struct entry {
    std::atomic<std::uint64_t> key{0}, value{0};
  };
  static constexpr std::size_t levels = 7, probes = 4;  // 256 entries, and four times as many a level
  static constexpr std::size_t slots(std::size_t level) noexcept { return std::size_t{256} << (2 * level); }
  static std::size_t place(std::uint64_t key, std::size_t level, std::size_t probe) noexcept;

  std::atomic<entry*> tables_[levels] = {};
};

/// Which folders lie on a local file system, by the way they are written, and which devices can't say what is
/// in the page cache. Found out by the threads that may block, at the first file of a folder.
class known_places {
 public:
  static known_places& all() noexcept;

  static std::uint64_t folder_of(std::string_view path) noexcept;

  enum kind : unsigned char { unknown, remote, local };
  struct place {
    kind what = unknown;
    std::uint64_t device = 0;  ///< of a local one's files
  };
  place find(std::uint64_t folder) const noexcept;
  void note_local(std::uint64_t folder, std::uint64_t device) noexcept { folders_.note(folder, device + 2); }
  void note_remote(std::uint64_t folder) noexcept { folders_.note(folder, remote); }
  void forget(std::uint64_t folder) noexcept { folders_.note(folder, unknown); }

  bool tells_what_is_cached(std::uint64_t device) const noexcept { return silent_.find(device + 1) == 0; }
  void note_silent(std::uint64_t device) noexcept { silent_.note(device + 1, 1); }

  /// Blocks of memory, which stay until the process ends.
  std::size_t blocks() const noexcept { return folders_.blocks() + silent_.blocks(); }

 private:
  growing_map folders_, silent_;
};

}  // namespace wick::detail
