/// \file
/// The row groups of Parquet files: which there are, and those that are in memory. Knows nothing of the type
/// of a row but its fields, and shows nothing of Arrow.
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

/// Which row groups are left out.
struct parquet_range {
  std::string column = {};  ///< of numbers; empty: none is left out
  double min = 0, max = 0;  ///< both included
};

/// Options of parquet.
struct parquet_options {
  /// What a null is in a field of numbers, and in an array or list of them; without it, it is an error of its
  /// sample.
  std::optional<double> null_number = {};
  /// The most bytes of decoded row groups that are kept for further rows, beside loader_options::memory. A
  /// quarter of it is for memory that the next groups use again. The last group is kept in any case.
  std::size_t kept_bytes = std::size_t{256} << 20;
  /// Leaves out row groups whose statistics exclude this range of a column. Rows outside of it that lie in
  /// other groups stay: filter() leaves those out.
  parquet_range where = {};
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

/// What a field of a row is.
struct parquet_field {
  enum class kinds : std::uint8_t { number, text, list, array };
  kinds kind = kinds::number;
  number_kind number = number_kind::boolean;  ///< of a number, of the elements
  std::vector<std::size_t> extents = {};      ///< of an array, outermost first

  std::size_t count() const noexcept {  ///< numbers of an array
    std::size_t n = 1;
    for (const std::size_t e : extents) n *= e;
    return n;
  }
};

/// A field of all rows of a row group, as the field's type has it in memory.
struct parquet_column {
  const std::byte* values = nullptr;
  std::size_t size = 1;           ///< bytes of a value: a number, a character
  std::size_t count = 1;          ///< values of a row, where no row has another number of them
  const void* offsets = nullptr;  ///< else the first value of each row, and the end
  bool wide = false;              ///< whether they have 64 bits, not 32
  std::vector<bool> faulty;       ///< rows with a null, or of another length than an array; empty: none

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
  const parquet_column* columns = nullptr;  ///< a field each
  std::size_t row = 0;                      ///< in the group
};

/// Used by all threads at once. Copies of a source, and loaders of it, share one.
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

  /// A row whose group is in memory, and for whose texts and lists the loader has room. Does not wait.
  bool find(std::uint64_t row, context& c, loaded_row& out);
  /// Waits until it is: an I/O thread decodes the group, for all samples that wait for it.
  task<loaded_row> fetch(std::uint64_t row, context* c);
  /// Without a loader: at once. Blocks.
  loaded_row read_now(std::uint64_t row);

  /// Of a value that its column says is faulty. \throws wick::error
  [[noreturn]] void refuse(const loaded_row& where, std::size_t field) const;

 private:
  struct state;
  std::shared_ptr<state> state_;  // also of a group that is decoded ahead
};

}  // namespace wick::detail
