// Implements io/detail/source_file.hpp. Included in exactly one file of a program.
#pragma once

#include <wick/io/detail/file_io.hpp>
#include <wick/io/detail/source_file.hpp>

namespace wick::inline v0_1::detail {

error source_error(std::string_view path, std::string_view who, const std::string& what) {
  return error(printable(path) + ": " + std::string(who) + ": " + what);
}

opened_file open_regular(const std::string& path, std::string_view who) {
  try {
    opened_file out{open_file(path.c_str()), {}};
    out.stamp = file_stamp::of(out.file.get());
    return out;
  } catch (const error& e) {
    throw source_error(path, who, e.what());
  }
}

void require_unchanged(const opened_file& opened, const std::string& path, std::string_view who) {
  const char* const what = opened.stamp.change(file_stamp::of(opened.file.get()));
  if (what != nullptr)
    throw source_error(path, who, std::string("it ") + what + " while it was read; let its writer end first");
}

}  // namespace wick::detail
