// Files of rows of equal size, opened once to find the number of rows in each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <wick/ext/file_range.hpp>
#include <wick/sources/detail/opened_files.hpp>
#include <wick/sources/files.hpp>

namespace wick::inline v0_1::detail {

class row_files {
 public:
  /// The layout of rows in a file.
  struct form {
    std::uint64_t bytes = 0;   ///< of a row
    std::uint64_t stride = 0;  ///< bytes from one row's start to the next
    std::uint64_t header = 0;  ///< bytes before the first row
    bool raw = false;          ///< files that begin like another format are data, too
  };
  /// \param who     for messages
  /// \param advice  what to check if a file has no whole rows
  /// \param option  the option with the header's length
  /// \throws wick::error
  row_files(const files& of, const form& rows, const char* who, const char* advice, const char* option);

  const files& paths() const noexcept { return files_.paths(); }
  const opened_files& opened() const noexcept { return files_; }
  /// The number of rows in each file.
  const std::vector<std::uint64_t>& rows() const noexcept { return rows_; }
  /// Consecutive rows of a file; if there are several, including everything between them.
  file_range at(std::size_t file, std::uint64_t row, std::uint64_t count) const noexcept;

 private:
  opened_files files_;
  form form_;
  std::vector<std::uint64_t> rows_;
};

}  // namespace wick::detail
