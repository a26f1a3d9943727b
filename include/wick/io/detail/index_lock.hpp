/// \file
/// Lets one of several processes of a machine make an index, while the others wait for it.
#pragma once

#include <atomic>
#include <string>

#include <wick/io/detail/file_io.hpp>

namespace wick::inline v0_1::detail {

/// Held while a source looks through its files to make an index that is kept. Of several processes of a user
/// one holds it. The others wait until it is done, for ten minutes at most, and then hold nothing: what is
/// still missing by then each finds by itself, at the same time. So a process that can't write the index,
/// or is killed, costs the others one wait.
class index_lock {
 public:
  index_lock() = default;
  index_lock(const index_lock&) = delete;
  index_lock& operator=(const index_lock&) = delete;
  ~index_lock() { release(); }

  /// Any thread of the source. The first call counts, and the others wait for it. Where no lock can be had,
  /// as without a folder for it, it is as if none were needed. The index may be there afterwards: look again.
  /// \param index  the path that the index is kept at
  /// \throws what check_interruption() throws
  void take(const std::string& index);
  void release() noexcept;

 private:
  enum state : unsigned char { untaken, being_taken, taken };

  void wait_for(const std::string& index);
  enum outcome : unsigned char { held, busy, impossible };
  outcome try_once() noexcept;

  std::atomic<state> state_{untaken};
  std::string path_;
  file_handle file_;  // with the lock
};

}  // namespace wick::detail
