// Parquet files as a source: a row is a sample. Has its own CMake target, wick::arrow.
#pragma once

#include <array>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <wick/async/task.hpp>
#include <wick/batch/detail/fields.hpp>
#include <wick/io/read.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/pipeline/sample.hpp>
#include <wick/sources/files.hpp>
#include <wick/tables/detail/parquet_table.hpp>

namespace wick::inline v0_1 {

namespace detail {

template <class T>
inline constexpr bool is_list_of_numbers = false;
template <class T>
inline constexpr bool is_list_of_numbers<std::vector<T>> =
    std::is_arithmetic_v<T> && sizeof(T) <= 8 && !std::is_same_v<T, bool>;

/// Whether T is a type for a column.
template <class T>
inline constexpr bool is_parquet_field = fixed_array<T>::value || is_list_of_numbers<T> ||
                                         std::is_same_v<T, std::string> || std::is_same_v<T, bytes>;
/// Whether T is a type for a row.
template <class T>
consteval bool is_parquet_row() {
  if constexpr (is_parquet_field<T>) {
    return true;
  } else if constexpr (composite<T>) {
    return []<class... F>(std::type_identity<std::tuple<F...>>) {
      return sizeof...(F) <= max_fields && (is_parquet_field<F> && ...);
    }(std::type_identity<typename field_types<T>::type>{});
  } else {
    return false;
  }
}

template <class T>
constexpr number_kind number_kind_of() noexcept {
  if constexpr (std::is_same_v<T, bool>) {
    return number_kind::boolean;
  } else if constexpr (std::is_floating_point_v<T>) {
    return sizeof(T) == 4 ? number_kind::float32 : number_kind::float64;
  } else {
    constexpr int by_size = sizeof(T) == 1 ? 1 : sizeof(T) == 2 ? 3 : sizeof(T) == 4 ? 5 : 7;
    return static_cast<number_kind>(by_size + (std::is_unsigned_v<T> ? 1 : 0));
  }
}

template <class F>
parquet_field parquet_field_of() {
  if constexpr (std::is_same_v<F, std::string> || std::is_same_v<F, bytes>) {
    return {.kind = parquet_field::kinds::text};
  } else if constexpr (is_list_of_numbers<F>) {
    return {.kind = parquet_field::kinds::list, .number = number_kind_of<typename F::value_type>()};
  } else {
    parquet_field out{.number = number_kind_of<typename fixed_array<F>::element>()};
    shape extents;
    fixed_array<F>::append(extents);
    out.extents.assign(extents.begin(), extents.end());
    if (!out.extents.empty()) out.kind = parquet_field::kinds::array;
    return out;
  }
}
template <class T>
std::vector<parquet_field> parquet_fields_of() {
  if constexpr (is_parquet_field<T>) {
    return {parquet_field_of<T>()};
  } else {
    return []<class... F>(std::type_identity<std::tuple<F...>>) {
      return std::vector<parquet_field>{parquet_field_of<F>()...};
    }(std::type_identity<typename field_types<T>::type>{});
  }
}

/// Awaits read() of a row; it is ready at once if its row group is in memory.
template <class T>
class [[nodiscard]] parquet_read {
 public:
  /// await_ready() may be called without a coroutine, as that of read_operation.
  static constexpr bool can_be_tried = true;
  parquet_read(parquet_table& of, std::uint64_t row, context& c) noexcept
      : table_(&of), row_(row), context_(&c) {}

  bool await_ready() {
    if (context_->on() != nullptr) return table_->find(row_, *context_, where_);
    where_ = table_->read_now(row_);
    return true;
  }
  [[gnu::noinline]] bool await_suspend(std::coroutine_handle<> waiter) {
    slow_ = table_->fetch(row_, context_);
    awaiting_.emplace(slow_.operator co_await());
    return awaiting_->await_suspend(waiter);
  }
  T await_resume() {
    if (awaiting_) where_ = awaiting_->await_resume();
    T out;
    if constexpr (is_parquet_field<T>) {
      take(out, 0);
    } else {
      std::size_t field = 0;
      detail::with_fields(out, [&](auto&... each) { (take(each, field++), ...); });
    }
    return out;
  }

 private:
  template <class F>
  void take(F& to, std::size_t field) const {
    const parquet_column& column = where_.columns[field];
    if (!column.good(where_.row)) table_->refuse(where_, field);
    const std::string_view found = column.of(where_.row);
    if constexpr (std::is_same_v<F, std::string>) {
      to.assign(found);
    } else if constexpr (std::is_same_v<F, bytes>) {
      to = bytes(found.data(), found.size());
    } else if constexpr (is_list_of_numbers<F>) {
      to.resize(found.size() / sizeof(typename F::value_type));
      if (!found.empty()) std::memcpy(to.data(), found.data(), found.size());
    } else {
      std::memcpy(&to, found.data(), sizeof to);
    }
  }

  parquet_table* table_;
  std::uint64_t row_;
  context* context_;
  loaded_row where_;
  task<loaded_row> slow_;
  std::optional<task<loaded_row>::awaiter> awaiting_;
};

/// A row that read() reads.
template <class T>
struct parquet_row {
  using read_type = T;
  parquet_table* table;
  std::uint64_t row;
  parquet_read<T> read(context& c, const read_options&) const noexcept { return {*table, row, c}; }
  /// For a cache on disk: the row, and the file's size and time.
  void add_origin_to(fingerprint_hash& h) const { table->add_origin_to(h, row); }
};

}  // namespace detail

/// The rows of Parquet files, for read():
///
///     struct row { std::array<float, 256> embedding; std::int64_t label; };
///     const wick::parquet<row> rows("train-*.parquet", {"embedding", "label"});
///     rows | block_shuffle(rows.groups(), 8) | read() | batch(256)
///
/// T is a number, bool, std::string, wick::bytes (for decode()), a std::vector of numbers, a std::array of
/// them, or a struct, std::tuple, or wick::sample of 1 to 8 of these: one for each column, in this order. An
/// array takes a column of lists of its length, or as many columns of numbers as it has elements. "a.b" is
/// the field b of the structs in column a. Numbers are converted to types that hold all values of the
/// column's type.
///
/// The constructor reads the footers. read() has an I/O thread decode the wanted columns of a row group, and
/// keeps the group for its other rows. A file that changes later is an error of its samples. Copies share
/// kept row groups.
template <class T>
class parquet {
  static_assert(
      detail::is_parquet_row<T>(),
      "wick: a row of parquet<T> is a number, bool, std::string, wick::bytes, std::vector<number>, "
      "std::array<number, N>, or a struct, std::tuple or wick::sample of 1 to 8 of these; write the "
      "fields as those types, and what they are to become in a callable after read()");

 public:
  /// \throws wick::error when a file can't be read or isn't a Parquet file, or when a column is missing, has
  /// a type that its field can't hold, or has another type than in the first file
  parquet(const files& of, const std::vector<std::string>& columns, const parquet_options& options = {})
      : table_(
            std::make_shared<detail::parquet_table>(of, columns, detail::parquet_fields_of<T>(), options)) {}
  /// The rows of one file, of a pattern, or of a list: see files.
  template <class Paths>
    requires requires(const Paths& p) { files(p); }
  parquet(const Paths& paths, const std::vector<std::string>& columns, const parquet_options& options = {})
      : parquet(files(paths), columns, options) {}

  std::uint64_t size() const noexcept { return table_->size(); }
  detail::parquet_row<T> at(std::uint64_t i) const noexcept { return {table_.get(), i}; }
  /// "train-0.parquet, row 1234".
  std::string key(std::uint64_t i) const { return table_->key(i); }
  /// A hash of the paths below the files' common folder, the rows of each group, and the columns' types.
  std::uint64_t fingerprint() const noexcept { return table_->fingerprint(); }
  /// The number of rows in each row group, in order: the blocks for block_shuffle().
  std::vector<std::uint64_t> groups() const { return table_->groups(); }
  /// The number of bytes read from the files so far, footers included.
  std::uint64_t bytes_read() const noexcept { return table_->bytes_read(); }
  /// A line for the report; empty before the first row.
  std::string note() const { return table_->note(); }

 private:
  std::shared_ptr<detail::parquet_table> table_;
};

}  // namespace wick
