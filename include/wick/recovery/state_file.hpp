/// \file
/// A state in a file of its own, that is whole at any moment: the old one or the new one, whenever the
/// machine stops.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <wick/recovery/state.hpp>

namespace wick {

/// Replaces the file at `path` by these bytes: they are written to a neighbor, brought to the disk, and take
/// the name then. Whoever reads meanwhile, or after a crash, finds the whole old or the whole new one. Any
/// number of threads and processes may write the same path at once: they don't mix, and the last one wins.
/// The new file has the old one's mode. A link at `path` is replaced, and what it led to stays. What a writer
/// that was killed left behind (.wick-writing-…) is removed by the next one in that folder. Keeps no other
/// bytes than those of a state: give it a training's whole checkpoint if that is small enough. \throws
/// wick::error when a step fails, or something else than a regular file is there; what was there is as it was
void write_state(const std::string& path, std::span<const std::byte> bytes);

/// The bytes of a file that write_state() wrote, up to a state's size; load_state() checks them.
/// \throws wick::error when the file can't be read, or is too large for a state
std::vector<std::byte> read_state(const std::string& path);

}  // namespace wick
