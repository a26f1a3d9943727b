/// \file
/// The bodies of what sources/detail/row_files.hpp declares. Included in exactly one file of a program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <wick/io/detail/source_file.hpp>
#include <wick/sources/detail/row_files.hpp>

namespace wick::detail {

row_files::row_files(const files& of, const form& rows, const char* who, const char* advice)
    : paths_(of), form_(rows), open_(of.size()) {
  for (std::uint64_t f = 0; f < of.size(); ++f) {
    const std::string path = of.path(f);
    opened_file opened = open_regular(path, who);
    const std::uint64_t size = opened.stamp.size;
    const std::uint64_t rest = size < rows.header ? 1 : (size - rows.header) % rows.stride;
    // The last one may do without what lies between rows.
    const bool unpadded = size >= rows.header && rest == rows.bytes;
    if (rest != 0 && !unpadded) {
      throw source_error(path, who,
                         "has " + std::to_string(size) + " bytes, which are no whole rows of " +
                             std::to_string(rows.stride) + " behind " + std::to_string(rows.header) +
                             "; check " + advice);
    }
    rows_.push_back((size - rows.header) / rows.stride + (unpadded ? 1 : 0));
    stamps_.push_back(opened.stamp);
    open_.keep(std::move(opened.file));
  }
}

file_range row_files::at(std::size_t file, std::uint64_t row, std::uint64_t count) const noexcept {
  return {.path = paths_.path(file),
          .file = open_[file],
          .offset = form_.header + row * form_.stride,
          .length = (count - 1) * form_.stride + form_.bytes,
          .indexed = &stamps_[file]};
}

}  // namespace wick::detail
