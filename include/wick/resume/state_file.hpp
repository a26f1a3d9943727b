/// \file
/// A state in a file of its own, that is whole at any moment: the old one or the new one, whenever the
/// machine stops.
#pragma once

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include <wick/resume/detail/replace_file.hpp>
#include <wick/resume/state.hpp>
#include <wick/sample/error.hpp>
#include <wick/system/detail/plain_file.hpp>

namespace wick {

/// Replaces the file at `path` by these bytes: they are written to a neighbor, brought to the disk, and take
/// the name then. Whoever reads meanwhile, or after a crash, finds the whole old or the whole new one. Any
/// number of threads and processes may write the same path at once: they don't mix, and the last one wins.
/// The new file has the old one's mode. A link at `path` is replaced, and what it led to stays. What a writer
/// that was killed left behind (.wick-writing-…) is removed by the next one in that folder. Keeps no other
/// bytes than those of a state: give it a training's whole checkpoint if that is small enough. \throws
/// wick::error when a step fails, or something else than a regular file is there; what was there is as it was
inline void write_state(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  detail::replace_file(path, bytes, "state");
}

/// The bytes of a file that write_state() wrote, up to a state's size; load_state() checks them.
/// \throws wick::error when the file can't be read, or is too large for a state
inline std::vector<std::byte> read_state(const std::filesystem::path& path) {
  detail::plain_file opened = detail::open_plain(path.c_str());
  if (opened.other != nullptr)
    throw error(detail::printable(path.native()) + ": state: " + detail::not_a_file(opened.other));
  if (opened.fault != 0) {
    detail::state_file_error("can't be opened", path, opened.fault,
                             "begin a training without it, or give its path");
  }
  const detail::file_handle file = std::move(opened.file);
  std::vector<std::byte> out(detail::loader_state::max_bytes + 1);
  std::size_t size = 0;
  while (size < out.size()) {
    const ::ssize_t n = ::read(file.get(), out.data() + size, out.size() - size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) detail::state_file_error("can't be read", path, errno, "take an older one");
    if (n == 0) break;
    size += static_cast<std::size_t>(n);
  }
  if (size > detail::loader_state::max_bytes) {
    throw error(detail::printable(path.native()) + ": state: has more than the " +
                std::to_string(detail::loader_state::max_bytes) +
                " bytes that a state has at most; is it the right file?");
  }
  out.resize(size);
  return out;
}

}  // namespace wick
