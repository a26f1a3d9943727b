/// \file
/// A state in a file of its own, that is whole at any moment: the old one or the new one, whenever the
/// machine stops.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <wick/resume/detail/state.hpp>

namespace wick::inline v0_1 {

/// Replaces the file at `path` by these bytes: they are written to a neighbor, flushed to the disk, and then
/// take the name. A reader finds the whole old or the whole new file, at any time and after a crash. Any
/// number of threads and processes may write the same path at once: they don't mix, and the last one wins.
/// The new file has the old one's mode. A link at `path` is replaced, and its target stays. The next writer
/// in the folder removes what a killed one left behind (.wick-writing-…). The file has these bytes alone:
/// pass a training's whole checkpoint if that is small enough. \throws wick::error when a step fails, or
/// something else than a regular file is there; then the old file stays
void write_state(const std::string& path, std::span<const std::byte> bytes);

/// The bytes of a file that write_state() wrote, up to a state's size; load_state() checks them.
/// \throws wick::error when the file can't be read, or is too large for a state
std::vector<std::byte> read_state(const std::string& path);

}  // namespace wick
