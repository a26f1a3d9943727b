/// \file
/// What sources share: the form of their messages, and opening a file that must stay as it is.
#pragma once

#include <string>
#include <string_view>
#include <system_error>

#include <wick/ext/file_stamp.hpp>
#include <wick/pipeline/error.hpp>

namespace wick::inline v0_1::detail {

/// "No such file or directory".
inline std::string system_text(int code) { return std::generic_category().message(code); }

/// "PATH: WHO: WHAT", as every message of a source begins.
error source_error(std::string_view path, std::string_view who, const std::string& what);

struct opened_file {
  file_handle file;
  file_stamp stamp;
};

/// \throws wick::error naming the path, also for what is no regular file
opened_file open_regular(const std::string& path, std::string_view who);

/// When a source has read all that it needs. \throws wick::error when the file was changed meanwhile
void require_unchanged(const opened_file& opened, const std::string& path, std::string_view who);

}  // namespace wick::detail
