// Shared by sources: the form of their messages, and opening a file that must not change.
#pragma once

#include <string>
#include <string_view>
#include <system_error>

#include <wick/ext/file_stamp.hpp>
#include <wick/pipeline/error.hpp>

namespace wick::inline v0_1::detail {

/// "No such file or directory".
inline std::string system_text(int code) { return std::generic_category().message(code); }

/// "PATH: WHO: WHAT", the beginning of every message of a source.
error source_error(std::string_view path, std::string_view who, const std::string& what);

struct opened_file {
  file_handle file;
  file_stamp stamp;
};

/// \throws wick::error that names the path, also if it isn't a regular file
opened_file open_regular(const std::string& path, std::string_view who);

/// Called when a source has read all that it needs. \throws wick::error if the file has changed meanwhile
void require_unchanged(const opened_file& opened, const std::string& path, std::string_view who);

}  // namespace wick::detail
