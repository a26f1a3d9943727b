// Lets one of several processes on a machine make an index, while the others wait for it.
#pragma once

#include <atomic>
#include <string>

#include <wick/io/detail/file_io.hpp>

namespace wick::inline v0_1::detail {

/// A file whose lock is held by one process at a time, or by one thread, if threads open it separately.
/// release() removes the file; the system releases a killed process's lock.
class lock_file {
 public:
  enum outcome : unsigned char { held, busy, impossible };

  lock_file() = default;
  lock_file(const lock_file&) = delete;
  lock_file& operator=(const lock_file&) = delete;
  ~lock_file() { release(); }

  /// Doesn't wait.
  outcome try_take(const std::string& path, unsigned mode) noexcept;
  void release() noexcept;

 private:
  std::string path_;
  file_handle file_;  // with the lock
};

/// Held while a source scans its files to make an index that is kept. One of a user's processes holds it. The
/// others wait until it is done, for ten minutes at most, and then hold nothing: each makes the missing
/// entries by itself. So a process that can't write the index, or is killed, costs the others one wait.
class index_lock {
 public:
  index_lock() = default;
  index_lock(const index_lock&) = delete;
  index_lock& operator=(const index_lock&) = delete;

  /// Any thread of the source. The first call counts, and the others wait for it. If no lock can be had, for
  /// example because there is no folder for it, take() returns as if none were needed. The index may exist
  /// afterwards: look again.
  /// \param index  the path of the kept index
  /// \throws what check_interruption() throws
  void take(const std::string& index);
  void release() noexcept { lock_.release(); }

 private:
  enum state : unsigned char { untaken, being_taken, taken };

  void wait_for(const std::string& index);

  std::atomic<state> state_{untaken};
  lock_file lock_;
};

}  // namespace wick::detail
