// A descriptor that a source keeps, and that may go bad while the file still exists: a network file system's
// server restarts, or a disk fails for a moment.
#pragma once

#include <wick/ext/file_range.hpp>
#include <wick/io/detail/file_io.hpp>

namespace wick::inline v0_1::detail {

/// Opens the file of a range again by its path, and replaces the source's descriptor, for all later reads,
/// too. False if the file isn't indexed, or can't be opened. \throws wick::error if it isn't the file that
/// was indexed
bool reopen_kept(const file_range& where);

/// Returns `f()`. If the system can't read the source's descriptor, opens the file again, once. \throws what
/// f throws
template <class F>
auto on_kept_file(const file_range& where, F f) {
  try {
    return f();
  } catch (const read_failure&) {
    if (where.file < 0 || !reopen_kept(where)) throw;
  }
  return f();
}

}  // namespace wick::detail
