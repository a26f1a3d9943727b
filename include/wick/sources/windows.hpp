// Overlapping windows over series in memory as a source: a sample is consecutive rows of a series, in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <wick/ext/source.hpp>
#include <wick/pipeline/sample.hpp>
#include <wick/pipeline/shape.hpp>
#include <wick/sources/memory_view.hpp>

namespace wick::inline v0_1 {

namespace detail {

/// A series: rows of one shape over time, in place in memory.
struct series {
  std::shared_ptr<const void> owner;  ///< keeps the rows alive; null when the caller does
  const std::byte* data = nullptr;
  std::uint64_t rows = 0;
  dtype type = dtype::float32;
  shape row, strides;     ///< of one row; strides in elements
  std::int64_t step = 0;  ///< elements from one row to the next

  /// A series of `count` contiguous numbers. \throws wick::error when they aren't a whole number of rows
  static series packed(std::shared_ptr<const void> owner, const void* data, std::size_t count, dtype type,
                       const shape& row);
};

/// The series in a value: specialized for the types that window_source::target() takes.
template <class T>
struct series_access;
template <class T>
  requires std::is_arithmetic_v<T>
struct series_access<std::vector<T>> {
  static std::vector<series> of(std::vector<T> values) {
    auto kept = std::make_shared<const std::vector<T>>(std::move(values));
    return {series::packed(kept, kept->data(), kept->size(), dtype_of<T>(), {})};
  }
};

/// \throws wick::error for a length below 1
std::uint64_t positive_length(const char* what, std::int64_t length);

/// Runs of `length` rows in series of one shape and type.
class series_runs {
 public:
  /// `what` begins messages: "windows: ". \throws wick::error when there is no series, or when they differ
  series_runs(const char* what, const std::vector<series>& all, std::int64_t length);
  std::size_t count() const noexcept { return kept_->parts.size(); }
  /// The number of rows in each series.
  std::vector<std::uint64_t> rows() const;
  std::uint64_t length() const noexcept { return kept_->length; }

  /// The run that begins at `row`.
  memory_view at(std::size_t series, std::uint64_t row) const noexcept {
    const part& p = parts_[series];
    return {p.data + row * p.step, *p.format};
  }
  void prefetch(std::size_t series, std::uint64_t row, std::size_t most) const noexcept {
    const part& p = parts_[series];
    prefetch_bytes(p.data + row * p.step, p.format->span(), most);
  }
  /// A hash of the shape, the type, the number of rows, and up to 1 MiB of evenly spaced rows. It depends on
  /// the numbers, not on their memory layout.
  std::uint64_t fingerprint() const;

 private:
  struct part {
    const std::byte* data;
    std::size_t step;  // bytes
    const row_format* format;
    std::uint64_t rows;
  };
  struct kept {
    std::vector<series> all;
    std::vector<part> parts;
    std::vector<std::shared_ptr<const row_format>> formats;
    std::uint64_t length;
  };
  std::shared_ptr<const kept> kept_;
  const part* parts_;  // spares the indirection through kept_
};

/// The order of the windows: those of the first series, then those of the second, …
class window_order {
 public:
  struct place {
    std::size_t series;
    std::uint64_t row;
  };

  /// Windows of `length` rows over series with these numbers of rows. A window begins every `stride` rows, as
  /// long as `need` rows are left. \throws wick::error when there is no window
  window_order(std::span<const std::uint64_t> rows, std::uint64_t length, std::uint64_t need,
               std::int64_t stride);
  std::uint64_t size() const noexcept { return size_; }
  std::int64_t stride() const noexcept { return static_cast<std::int64_t>(stride_); }
  place at(std::uint64_t i) const noexcept {
    const std::uint64_t* first = starts_;
    for (std::size_t n = series_; n > 1;) {
      const std::size_t half = n / 2;
      first = first[half] <= i ? first + half : first;
      n -= half;
    }
    return {static_cast<std::size_t>(first - starts_), (i - *first) * stride_};
  }
  /// "rows 128 to 191"; with several series, "series 3, rows 128 to 191".
  std::string key(std::uint64_t i, std::uint64_t length) const;

 private:
  std::shared_ptr<const std::vector<std::uint64_t>> kept_;
  const std::uint64_t* starts_;  // the first window of each series
  std::size_t series_;
  std::uint64_t stride_, size_;
};

}  // namespace detail

/// Options of windows().target().
struct window_target_options {
  static constexpr std::uint64_t behind = ~std::uint64_t{0};
  /// The target's first row, counted from the window's first row. `behind`: the row after the window's last.
  std::uint64_t offset = behind;
};

namespace detail {

/// A source of sample<memory_view, memory_view>: windows and their targets. Made by windows(…).target(…).
class targeted_windows {
 public:
  targeted_windows(series_runs data, series_runs target, std::int64_t stride, window_target_options options);
  std::uint64_t size() const noexcept { return order_.size(); }
  sample<memory_view, memory_view> at(std::uint64_t i) const noexcept {
    const window_order::place p = order_.at(i);
    return {data_.at(p.series, p.row), target_.at(p.series, p.row + offset_)};
  }
  void prefetch(std::uint64_t i, std::size_t most) const noexcept {
    const window_order::place p = order_.at(i);
    data_.prefetch(p.series, p.row, most);
    target_.prefetch(p.series, p.row + offset_, most);
  }
  std::string key(std::uint64_t i) const { return order_.key(i, data_.length()); }
  std::uint64_t fingerprint() const;

 private:
  /// The number of rows that a window and its target take, counted from the window's first.
  static std::uint64_t rows_needed(const series_runs& data, const series_runs& target, std::uint64_t offset);
  /// Returns `data`. \throws wick::error when `target` has another number of series, or of rows in one
  static const series_runs& of_equal_rows(const series_runs& data, const series_runs& target);

  series_runs data_, target_;
  std::uint64_t offset_;
  window_order order_;
};

/// A source of memory_view: windows over series. Made by windows().
class window_source {
 public:
  /// \throws wick::error
  window_source(std::vector<series> all, std::int64_t length, std::int64_t stride);
  std::uint64_t size() const noexcept { return order_.size(); }
  memory_view at(std::uint64_t i) const noexcept {
    const window_order::place p = order_.at(i);
    return runs_.at(p.series, p.row);
  }
  void prefetch(std::uint64_t i, std::size_t most) const noexcept {
    const window_order::place p = order_.at(i);
    runs_.prefetch(p.series, p.row, most);
  }
  std::string key(std::uint64_t i) const { return order_.key(i, runs_.length()); }
  std::uint64_t fingerprint() const;

  /// Adds `length` rows of the same series as the target: the rows after the window, unless the options set
  /// an offset. To forecast 16 rows, write `windows(series, 64).target(16)`; for the window shifted by one
  /// row, `.target(64, {.offset = 1})`. \throws wick::error when no series is long enough for both
  targeted_windows target(std::int64_t length, window_target_options options = {}) const;
  /// Adds rows of other series as the target: one series of the same length for each, as tensors or as a
  /// std::vector with one number a row. For the class of a window's last row, write
  /// `windows(series, 64).target(classes, 1, {.offset = 63})`. \throws wick::error when their lengths differ
  template <class Series>
  targeted_windows target(const Series& of, std::int64_t length, window_target_options options = {}) const {
    return target_of(series_access<Series>::of(of), length, options);
  }

 private:
  targeted_windows target_of(const std::vector<series>& of, std::int64_t length,
                             window_target_options options) const;

  std::vector<series> all_;
  series_runs runs_;
  window_order order_;
};

}  // namespace detail

/// Windows over a series in memory as a source: sample i is the rows [i * stride, i * stride + length), an
/// array [length, row…]. Nothing is copied before batch() writes a window into its slot. `values` are rows of
/// shape `row`, oldest first: `windows(std::move(values), {16}, 64)`. \throws wick::error for a length or
/// stride below 1, a series shorter than a window, or values that aren't a whole number of rows
template <class T>
  requires std::is_arithmetic_v<T>
detail::window_source windows(std::vector<T> values, const shape& row, std::int64_t length,
                              std::int64_t stride = 1) {
  auto kept = std::make_shared<const std::vector<T>>(std::move(values));
  return {
      {detail::series::packed(kept, kept->data(), kept->size(), detail::dtype_of<T>(), row)}, length, stride};
}

/// The same over memory that the caller owns and keeps alive and unchanged.
template <class T, std::size_t N>
  requires std::is_arithmetic_v<T>
detail::window_source windows(std::span<T, N> values, const shape& row, std::int64_t length,
                              std::int64_t stride = 1) {
  return {{detail::series::packed(nullptr, values.data(), values.size(),
                                  detail::dtype_of<std::remove_const_t<T>>(), row)},
          length,
          stride};
}

}  // namespace wick
