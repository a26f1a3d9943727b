// The text of a CSV file, and the positions of its rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <wick/pipeline/sample.hpp>

namespace wick::inline v0_1::detail {

/// Shafranovich: "Common Format and MIME Type for Comma-Separated Values (CSV) Files", RFC 4180, 2005.
class csv_text {
 public:
  /// \param header  whether the first row is left out of rows()
  /// \throws wick::error
  csv_text(const std::string& path, char separator, bool header);

  std::uint64_t rows() const noexcept { return is_picked_ ? picked_.size() : begins_.size() - 1; }
  /// The fields of the first row in the file.
  const std::vector<std::string>& first() const noexcept { return first_; }
  /// Calls f(row, field) for one column of all rows; a quoted field is in `scratch`.
  template <class F>
  void each(std::size_t column, F&& f) const {
    std::string scratch;
    for (std::uint64_t r = 0; r < rows(); ++r) f(r, field(row(r), column, scratch));
  }
  /// The same for several columns: f(row, index in `columns`, field).
  template <class F>
  void each(const std::vector<std::size_t>& columns, F&& f) const {
    std::string scratch;
    std::vector<std::string_view> raw;
    for (std::uint64_t r = 0; r < rows(); ++r) {
      split(row(r), raw);
      for (std::size_t c = 0; c < columns.size(); ++c) f(r, c, unquoted(raw[columns[c]], scratch));
    }
  }
  /// Calls f(field) for one column of all rows, including those that pick() removed.
  template <class F>
  void each_in_file(std::size_t column, F&& f) const {
    std::string scratch;
    for (std::size_t r = 0; r + 1 < begins_.size(); ++r) f(field(row_in_file(r), column, scratch));
  }
  /// The line in the file where a row begins, from 1.
  std::uint64_t line_of(std::uint64_t row) const noexcept {
    return line_at(static_cast<std::size_t>(begins_[in_file(row)]));
  }
  /// Keeps only these of rows().
  void pick(std::vector<std::uint64_t> rows);

 private:
  class row_finder;

  void read(const std::string& path);
  std::size_t in_file(std::uint64_t row) const noexcept {
    return static_cast<std::size_t>(is_picked_ ? picked_[static_cast<std::size_t>(row)] : row);
  }
  std::uint64_t line_at(std::size_t begin) const noexcept;
  std::string_view row(std::uint64_t r) const noexcept { return row_in_file(in_file(r)); }
  std::string_view row_in_file(std::size_t r) const noexcept;
  /// The raw fields of a row, with their quotes.
  void split(std::string_view row, std::vector<std::string_view>& to) const;
  std::string_view field(std::string_view row, std::size_t column, std::string& scratch) const;
  static std::string_view unquoted(std::string_view raw, std::string& scratch);

  std::shared_ptr<const bytes> file_;
  std::string_view text_;
  char separator_;
  std::vector<std::uint64_t> begins_;  // of each row of the file, and the end
  bool is_picked_ = false;             // rows() are the picked ones
  std::vector<std::uint64_t> picked_;
  std::vector<std::string> first_;
};

}  // namespace wick::detail
