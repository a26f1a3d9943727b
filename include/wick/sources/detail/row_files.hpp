/// \file
/// Files of rows of one size, looked into once to see how many each has.
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
  /// How rows lie in a file.
  struct form {
    std::uint64_t bytes = 0;   ///< of a row
    std::uint64_t stride = 0;  ///< from one row to the next
    std::uint64_t header = 0;  ///< bytes before the first
    bool raw = false;          ///< files that begin as another format does are data, too
  };
  /// \param who     for messages
  /// \param advice  what to check where a file has no whole rows
  /// \param option  that says how long the header is
  /// \throws wick::error
  row_files(const files& of, const form& rows, const char* who, const char* advice, const char* option);

  const files& paths() const noexcept { return files_.paths(); }
  const opened_files& opened() const noexcept { return files_; }
  /// Of each file.
  const std::vector<std::uint64_t>& rows() const noexcept { return rows_; }
  /// Some rows of a file that follow each other; of more than one all that lies between is part of it.
  file_range at(std::size_t file, std::uint64_t row, std::uint64_t count) const noexcept;

 private:
  opened_files files_;
  form form_;
  std::vector<std::uint64_t> rows_;
};

}  // namespace wick::detail
