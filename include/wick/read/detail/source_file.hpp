/// \file
/// What sources share: the form of their messages, and opening a file that must stay as it is.
#pragma once

#include <string>
#include <string_view>
#include <system_error>

#include <wick/read/detail/file_io.hpp>
#include <wick/read/file_stamp.hpp>
#include <wick/sample/error.hpp>

namespace wick::detail {

/// "No such file or directory".
inline std::string system_text(int code) { return std::generic_category().message(code); }

/// "PATH: WHO: WHAT", as every message of a source begins.
inline error source_error(std::string_view path, std::string_view who, const std::string& what) {
  return error(printable(path) + ": " + std::string(who) + ": " + what);
}

struct opened_file {
  file_handle file;
  file_stamp stamp;
};

/// \throws wick::error naming the path, also for what is no regular file
inline opened_file open_regular(const std::string& path, std::string_view who) {
  try {
    opened_file out{open_file(path.c_str()), {}};
    out.stamp = file_stamp::of(out.file.get());
    return out;
  } catch (const error& e) {
    throw source_error(path, who, e.what());
  }
}

/// When a source has read all that it needs. \throws wick::error when the file was changed meanwhile
inline void require_unchanged(const opened_file& opened, const std::string& path, std::string_view who) {
  const char* const what = opened.stamp.change(file_stamp::of(opened.file.get()));
  if (what != nullptr)
    throw source_error(path, who, std::string("it ") + what + " while it was read; let its writer end first");
}

}  // namespace wick::detail
