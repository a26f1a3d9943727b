// Implements sources/detail/row_files.hpp. Included in exactly one file of a program.
#pragma once

#include <string>
#include <utility>

#include <wick/sources/detail/row_files.hpp>

namespace wick::inline v0_1::detail {

row_files::row_files(const files& of, const form& rows, const char* who, const char* advice,
                     const char* option)
    : files_(of, who), form_(rows) {
  for (std::size_t f = 0; f < files_.size(); ++f) {
    opened_files::look file = files_.open(f);
    if (!rows.raw) files_.require_plain(f, file, rows.header, option);
    const std::uint64_t size = file.size();
    const std::uint64_t rest = size < rows.header ? 1 : (size - rows.header) % rows.stride;
    // The last row may lack the gap after it.
    const bool unpadded = size >= rows.header && rest == rows.bytes;
    if (rest != 0 && !unpadded) {
      throw files_.fault(f, "has " + std::to_string(size) + " bytes, which aren't whole rows of " +
                                std::to_string(rows.stride) + " after " + std::to_string(rows.header) +
                                "; check " + advice);
    }
    rows_.push_back((size - rows.header) / rows.stride + (unpadded ? 1 : 0));
    files_.keep(std::move(file));
  }
}

file_range row_files::at(std::size_t file, std::uint64_t row, std::uint64_t count) const noexcept {
  return files_.range(file, form_.header + row * form_.stride, (count - 1) * form_.stride + form_.bytes);
}

}  // namespace wick::detail
