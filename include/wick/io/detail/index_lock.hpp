/// \file
/// Lets one of several processes of a machine make an index, while the others wait for it.
#pragma once

#include <atomic>
#include <string>

#include <wick/io/detail/file_io.hpp>

namespace wick::inline v0_1::detail {

/// A file whose lock one process, or one thread that opened it by itself, holds at a time. It's removed with
/// the lock, and gone with a process that is killed.
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

/// Held while a source looks through its files to make an index that is kept. Of several processes of a user
/// one holds it. The others wait until it is done, for ten minutes at most, and then hold nothing: what is
/// still missing by then each finds by itself, at the same time. So a process that can't write the index,
/// or is killed, costs the others one wait.
class index_lock {
 public:
  index_lock() = default;
  index_lock(const index_lock&) = delete;
  index_lock& operator=(const index_lock&) = delete;

  /// Any thread of the source. The first call counts, and the others wait for it. Where no lock can be had,
  /// as without a folder for it, it is as if none were needed. The index may be there afterwards: look again.
  /// \param index  the path that the index is kept at
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
