/// \file
/// A descriptor that a source keeps, and that may go bad while the file is still there: the server of a
/// network file system restarts, or a disk fails for a moment.
#pragma once

#include <wick/ext/file_range.hpp>
#include <wick/io/detail/file_io.hpp>

namespace wick::inline v0_1::detail {

/// Opens the file of a range again by its path, and puts it in the place of the source's descriptor, for all
/// later reads, too. False when there's nothing to compare it with, or it can't be opened. \throws
/// wick::error when it isn't the file that was indexed
bool reopen_kept(const file_range& where);

/// What `f()` returns. When the system can't read the descriptor that the source keeps, the file is opened
/// again, once. \throws what f throws
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
