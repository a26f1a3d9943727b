/// \file
/// What sources share: the form of their messages, and opening a file whose size is to be known.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

#include <wick/flow/error.hpp>
#include <wick/read/detail/file_io.hpp>

namespace wick::detail {

/// "No such file or directory".
inline std::string system_text(int code) { return std::generic_category().message(code); }

/// "PATH: WHO: WHAT", as every message of a source begins.
inline error source_error(std::string_view path, std::string_view who, const std::string& what) {
  return error(printable(path) + ": " + std::string(who) + ": " + what);
}

struct opened_file {
  file_handle file;
  std::uint64_t size = 0;
};

/// \throws wick::error naming the path, also for what is no regular file
inline opened_file open_regular(const std::string& path, std::string_view who) {
  try {
    opened_file out{open_file(path.c_str())};
    out.size = size_of_file(out.file.get());
    return out;
  } catch (const error& e) {
    throw source_error(path, who, e.what());
  }
}

}  // namespace wick::detail
