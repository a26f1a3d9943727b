// Implements resume/state_file.hpp. Included in exactly one file of a program.
#pragma once

#include <cerrno>
#include <string>
#include <unistd.h>
#include <utility>

#include <wick/io/detail/plain_file.hpp>
#include <wick/io/detail/replace_file.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/resume/state_file.hpp>

namespace wick::inline v0_1 {

void write_state(const std::string& path, std::span<const std::byte> bytes) {
  detail::replace_file(path, bytes, "state");
}

std::vector<std::byte> read_state(const std::string& path) {
  detail::plain_file opened = detail::open_plain(path.c_str());
  if (opened.other != nullptr)
    throw error(detail::printable(path) + ": state: " + detail::not_a_file(opened.other));
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
    throw error(detail::printable(path) + ": state: has more than the " +
                std::to_string(detail::loader_state::max_bytes) +
                " bytes that a state has at most; is it the right file?");
  }
  out.resize(size);
  return out;
}

}  // namespace wick
