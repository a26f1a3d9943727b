// A state in a file of its own that is always complete: the old state or the new one, whenever the machine
// stops.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <wick/resume/detail/state.hpp>

namespace wick::inline v0_1 {

/// Replaces the file at `path` with these bytes: writes them to a file beside it, flushes that to the disk,
/// and renames it. A reader finds the complete old or the complete new file, at any time and after a crash.
/// Any number of threads and processes may write the same path at once: they don't mix, and the last one
/// wins. The new file has the old one's mode. A link at `path` is replaced, and its target stays. The next
/// writer in the folder removes the file that a killed one left behind (.wick-writing-…). The file has only
/// these bytes: pass a training's whole checkpoint if that is small enough. \throws wick::error when a step
/// fails, or something other than a regular file is there; the old file stays then
void write_state(const std::string& path, std::span<const std::byte> bytes);

/// Gives the bytes of a file that write_state() wrote, up to a state's size; load_state() checks them.
/// \throws wick::error when the file can't be read, or is too large for a state
std::vector<std::byte> read_state(const std::string& path);

}  // namespace wick
