// The row groups of Parquet files: all of them, and those in memory. Independent of a row's C++ type except
// for its fields, and of Arrow's headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <wick/async/task.hpp>
#include <wick/ext/fingerprint.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/sources/files.hpp>

namespace wick::inline v0_1 {

/// Options of parquet.
struct parquet_options {
  /// Selects row groups by their statistics.
  struct range {
    std::string column = {};  ///< of numbers; empty to leave none out
    double min = 0, max = 0;  ///< inclusive
  };

  /// The value of a null in a field of numbers, and in an array or list of them. If not set, a null is an
  /// error of its sample.
  std::optional<double> null_number = {};
  /// The most bytes of decoded row groups that are kept for further rows, in addition to
  /// loader_options::memory. A quarter of it is for memory that the next groups reuse. The last group is
  /// always kept.
  std::size_t kept_bytes = std::size_t{256} << 20;
  /// Leaves out row groups whose statistics exclude this range of a column. Rows outside of the range in
  /// other groups stay: filter() leaves those out.
  range where = {};
};

}  // namespace wick

namespace wick::inline v0_1::detail {

enum class number_kind : std::uint8_t {
  boolean,
  int8,
  uint8,
  int16,
  uint16,
  int32,
  uint32,
  int64,
  uint64,
  float32,
  float64
};

/// The type of a row's field.
struct parquet_field {
  enum class kinds : std::uint8_t { number, text, list, array };
  kinds kind = kinds::number;
  number_kind number = number_kind::boolean;  ///< of a number, or of the elements
  std::vector<std::size_t> extents = {};      ///< of an array, outermost first

  std::size_t count() const noexcept {  ///< number of elements in an array
    std::size_t n = 1;
    for (const std::size_t e : extents) n *= e;
    return n;
  }
};

/// A field of all rows of a row group, in memory as the field's type.
struct parquet_column {
  const std::byte* values = nullptr;
  std::size_t size = 1;           ///< bytes of a value: a number, a character
  std::size_t count = 1;          ///< values per row, if all rows have the same number
  const void* offsets = nullptr;  ///< if not, the index of each row's first value, and the end
  bool wide = false;              ///< whether the offsets have 64 bits, not 32
  std::vector<bool> faulty;       ///< rows with a null or a wrong array length; empty if there are none

  std::size_t begin(std::size_t row) const noexcept {
    if (offsets == nullptr) return row * count;
    return wide ? static_cast<std::size_t>(static_cast<const std::int64_t*>(offsets)[row])
                : static_cast<std::size_t>(static_cast<const std::int32_t*>(offsets)[row]);
  }
  /// The bytes of a row.
  std::string_view of(std::size_t row) const noexcept {
    const std::size_t from = begin(row), to = begin(row + 1);
    return {reinterpret_cast<const char*>(values) + from * size, (to - from) * size};
  }
  bool good(std::size_t row) const noexcept { return faulty.empty() || !faulty[row]; }
};

struct parquet_group;

/// A row of a group in memory.
struct loaded_row {
  std::shared_ptr<const parquet_group> group;
  const parquet_column* columns = nullptr;  ///< one for each field
  std::size_t row = 0;                      ///< in the group
};

/// Used by all threads at once. Shared by copies of a source, and by their loaders.
class parquet_table {
 public:
  /// Reads the footers of all files. \throws wick::error
  parquet_table(const files& of, const std::vector<std::string>& columns,
                const std::vector<parquet_field>& fields, const parquet_options& options);
  parquet_table(const parquet_table&) = delete;
  parquet_table& operator=(const parquet_table&) = delete;
  ~parquet_table();

  std::uint64_t size() const noexcept;
  std::string key(std::uint64_t row) const;
  std::uint64_t fingerprint() const noexcept;
  void add_origin_to(fingerprint_hash& h, std::uint64_t row) const noexcept;
  std::vector<std::uint64_t> groups() const;
  std::uint64_t bytes_read() const noexcept;
  std::string note() const;

  /// Gets a row, if its group is in memory and the loader has room for its texts and lists. Doesn't wait.
  bool find(std::uint64_t row, context& c, loaded_row& out);
  /// Waits for the row: an I/O thread decodes its group, for all samples that wait for it.
  task<loaded_row> fetch(std::uint64_t row, context* c);
  /// Without a loader: reads at once. Blocks.
  loaded_row read_now(std::uint64_t row);

  /// Reports a faulty value. \throws wick::error
  [[noreturn]] void refuse(const loaded_row& where, std::size_t field) const;

 private:
  struct state;
  std::shared_ptr<state> state_;  // shared with groups that are decoded ahead
};

}  // namespace wick::detail
