// CSV tables: lists of files with labels, numbers, and texts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <wick/sources/files.hpp>
#include <wick/sources/memory.hpp>
#include <wick/tables/detail/csv_text.hpp>

namespace wick::inline v0_1 {

/// Options of csv.
struct csv_options {
  char separator = ',';  ///< between the fields of a row: ',', ';', '\t', …
  bool header = true;    ///< the first row has the columns' names; without it, they are "0", "1", …
  /// The value of an empty field in a column of numbers, and of NA, N/A, NULL, None, and so on. Default: such
  /// a field is an error.
  std::optional<double> empty_number = {};
  char decimal = '.';  ///< the decimal separator of a number: ',' in "3,14"
};

/// Options of csv::files().
struct csv_files_options {
  /// The folder of relative paths, or a URL, for which the paths are percent-encoded. Empty: the folder of
  /// the table.
  std::string root = {};
  std::string prefix = {};  ///< goes before each path: "images/"
  std::string suffix = {};  ///< goes after each path: ".jpg"
};

/// A table in a CSV file, plain or gzip-compressed: RFC 4180, with quotes, line breaks in fields, CRLF, and a
/// byte order mark. The constructor reads it into memory, and its columns become sources:
///
///     const wick::csv table("train.csv");   // path,label
///     wick::zip(table.files("path"), wick::in_memory(table.integers("label"))) | shuffle() | read() |
///     decode()
///
/// The sources and values of columns outlive the table. Rows are counted from 0. Messages name the file, the
/// line, and the column.
class csv {
 public:
  /// A column of classes as numbers.
  struct class_column {
    std::vector<std::string> names;    ///< all class names, sorted
    std::vector<std::int64_t> labels;  ///< for each row, the number of its name
  };

  /// \throws wick::error when the file can't be read or has no row, or when a row has another number of
  /// fields than the first
  explicit csv(const std::string& path, const csv_options& options = {});

  std::uint64_t size() const noexcept { return text_.rows(); }  ///< rows, without the header
  const std::vector<std::string>& columns() const noexcept { return columns_; }

  /// The rows with this text in a column, as a table: `table.where("split", "train")`. \throws wick::error
  /// when no row has it
  csv where(std::string_view column, std::string_view text) const;

  /// A source of the files that a column names, by path or URL: see wick::files. \throws wick::error for an
  /// empty field
  wick::files files(std::string_view column, const csv_files_options& options = {}) const;
  /// The whole numbers of a column; "3.0" is one, too. \throws wick::error if a field isn't a whole number
  std::vector<std::int64_t> integers(std::string_view column) const;
  /// The labels of a column of class names, which are sorted and numbered from 0. Tables from where() have
  /// the names and numbers of the whole table, so that parts agree.
  class_column classes(std::string_view column) const;
  std::vector<std::string> texts(std::string_view column) const;
  /// A source of rows of these columns as float32 [columns]: `numbers({"x", "y"}).at(i)` is a
  /// wick::memory_view, whose `as<float>()` points to the two numbers. \throws wick::error when a field isn't
  /// a number
  detail::array_rows numbers(const std::vector<std::string>& columns) const;

 private:
  std::size_t number_of(std::string_view column) const;

  std::string path_;
  csv_options options_;
  detail::csv_text text_;
  std::vector<std::string> columns_;
};

}  // namespace wick
