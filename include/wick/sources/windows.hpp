/// \file
/// Overlapping windows over series in memory as a source: a sample is some rows of a series, where they lie.
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

/// A series: rows of one shape in time, where they lie.
struct series {
  std::shared_ptr<const void> owner;  ///< keeps them alive; null when the caller does
  const std::byte* data = nullptr;
  std::uint64_t rows = 0;
  dtype type = dtype::float32;
  shape row, strides;     ///< of one row; strides in elements
  std::int64_t step = 0;  ///< elements from one row to the next

  /// Of `count` numbers that lie side by side. \throws wick::error when they are no whole rows
  static series packed(std::shared_ptr<const void> owner, const void* data, std::size_t count, dtype type,
                       const shape& row);
};

/// What is a series, or several: specialized for what windows_of::target() takes.
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

/// \throws wick::error for less than 1
std::uint64_t positive_length(const char* what, std::int64_t length);

/// Runs of `length` rows of some series, all of one shape and type.
class series_runs {
 public:
  /// `what` for messages: "windows: ". \throws wick::error when there is no series, or they differ
  series_runs(const char* what, const std::vector<series>& all, std::int64_t length);
  std::size_t count() const noexcept { return kept_->parts.size(); }
  /// Of each series.
  std::vector<std::uint64_t> rows() const;
  std::uint64_t length() const noexcept { return kept_->length; }

  /// The run from `row` on.
  memory_view at(std::size_t series, std::uint64_t row) const noexcept {
    const part& p = parts_[series];
    return {p.data + row * p.step, *p.format};
  }
  void prefetch(std::size_t series, std::uint64_t row, std::size_t most) const noexcept {
    const part& p = parts_[series];
    prefetch_bytes(p.data + row * p.step, p.format->span(), most);
  }
  /// Of shape, type, number of rows, and of up to 1 MiB of them, evenly spaced: the same for the same
  /// numbers, however they lie.
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
  const part* parts_;  // without a way through kept_
};

/// Which window is the i-th: those of the first series, then those of the second, …
class window_order {
 public:
  struct place {
    std::size_t series;
    std::uint64_t row;
  };

  /// Over series of so many rows: windows of `length` rows, one each `stride`, as far as `need` rows are
  /// there. \throws wick::error when there is none
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
  /// "rows 128 to 191", of several series "series 3, rows 128 to 191".
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
  /// The target's first row, counted from the window's first; `behind`: the one after the window's last.
  std::uint64_t offset = behind;
};

namespace detail {

/// Source of sample<memory_view, memory_view>: windows, and what belongs to each. Made by
/// windows(…).target(…).
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
  /// Rows that a window takes with its target, from its first on.
  static std::uint64_t rows_needed(const series_runs& data, const series_runs& target, std::uint64_t offset);
  /// `data`. \throws wick::error when the targets are not as many, or have not as many rows
  static const series_runs& of_equal_rows(const series_runs& data, const series_runs& target);

  series_runs data_, target_;
  std::uint64_t offset_;
  window_order order_;
};

/// Source of memory_view: windows over series. Made by windows().
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

  /// With `length` rows of the same series as the target, those behind the window unless the options say
  /// where: to forecast 16 rows, `windows(series, 64).target(16)`; for the window moved on by one,
  /// `.target(64, {.offset = 1})`. \throws wick::error when no series is as long as both
  targeted_windows target(std::int64_t length, window_target_options options = {}) const;
  /// With rows of other series, one for each and as long as it: of tensors, or a std::vector with a number a
  /// row. The class of a window's last row: `windows(series, 64).target(classes, 1, {.offset = 63})`.
  /// \throws wick::error when their lengths differ
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
/// stride below 1, a series shorter than a window, or values that are no whole rows
template <class T>
  requires std::is_arithmetic_v<T>
detail::window_source windows(std::vector<T> values, const shape& row, std::int64_t length,
                              std::int64_t stride = 1) {
  auto kept = std::make_shared<const std::vector<T>>(std::move(values));
  return {
      {detail::series::packed(kept, kept->data(), kept->size(), detail::dtype_of<T>(), row)}, length, stride};
}

/// The same over memory that the caller owns, and keeps alive and unchanged.
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
