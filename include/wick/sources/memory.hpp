// Sources of samples that are already in memory: a vector of any type, or the rows of an array with their
// targets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <wick/ext/source.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/pipeline/sample.hpp>
#include <wick/pipeline/shape.hpp>
#include <wick/sources/memory_view.hpp>

namespace wick::inline v0_1 {

namespace detail {

/// A vector as a source: `at(i)` is item i, as a copy if it is at most two words long, else as a reference.
/// Made by in_memory(vector).
template <class T>
class memory_items {
  static_assert(!std::is_same_v<T, bool>,
                "wick: std::vector<bool> holds no bools to refer to; use std::vector<char>");

 public:
  explicit memory_items(std::vector<T> items)
      : items_(std::make_shared<const std::vector<T>>(std::move(items))) {
    if (items_->empty()) throw error("in_memory: the vector is empty; give it at least one sample");
    first_ = items_->data();
  }

  std::uint64_t size() const noexcept { return items_->size(); }
  decltype(auto) at(std::uint64_t i) const noexcept {
    if constexpr (std::is_trivially_copyable_v<T> && sizeof(T) <= 16) {
      return T(first_[i]);
    } else {
      return static_cast<const T&>(first_[i]);
    }
  }
  void prefetch(std::uint64_t i, std::size_t most) const noexcept {
    detail::prefetch_bytes(first_ + i, sizeof(T), most);
  }
  /// A hash of the items if their bytes or characters can be hashed, else of their number.
  std::uint64_t fingerprint() const noexcept {
    fingerprint_hash h;
    if constexpr (std::has_unique_object_representations_v<T> && !std::is_pointer_v<T>) {
      h.add(items_->data(), items_->size() * sizeof(T));
    } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
      for (const T& item : *items_) h.add(std::string_view(item));
    }
    return h.add(size()).value();
  }

 private:
  std::shared_ptr<const std::vector<T>> items_;
  const T* first_;
};

/// The rows of an array as a source: `at(i)` is a memory_view, ready for batch().
class array_rows {
 public:
  /// `owner` keeps the memory at `data` alive: `count` contiguous rows of that format.
  array_rows(std::shared_ptr<const void> owner, const std::byte* data, const row_format& format,
             std::uint64_t count);

  std::uint64_t size() const noexcept { return count_; }
  memory_view at(std::uint64_t i) const noexcept { return {data_ + i * stride_, *format_}; }
  void prefetch(std::uint64_t i, std::size_t most) const noexcept {
    prefetch_bytes(data_ + i * stride_, stride_, most);
  }
  const row_format& format() const noexcept { return *format_; }
  /// A hash of the format and the rows: all rows up to 16 MiB, else 16 MiB of evenly spaced rows.
  std::uint64_t fingerprint() const noexcept;

 private:
  struct kept {
    std::shared_ptr<const void> owner;
    row_format format;
  };
  std::shared_ptr<const kept> kept_;
  // Spare at() the indirection through kept_.
  const std::byte* data_;
  std::size_t stride_;
  const row_format* format_;
  std::uint64_t count_;
};

/// The rows of an array and their targets: `at(i)` is a sample<memory_view, int64>. Made by in_memory(values,
/// shape, targets) and by idx().
class memory_rows {
 public:
  /// Like array_rows, with targets.size() rows.
  memory_rows(std::shared_ptr<const void> owner, const std::byte* data, const row_format& format,
              std::vector<std::int64_t> targets);

  std::uint64_t size() const noexcept { return rows_.size(); }
  sample<memory_view, std::int64_t> at(std::uint64_t i) const noexcept { return {rows_.at(i), first_[i]}; }
  void prefetch(std::uint64_t i, std::size_t most) const noexcept {
    prefetch_bytes(first_ + i, sizeof(*first_), most);
    rows_.prefetch(i, most);
  }
  const row_format& format() const noexcept { return rows_.format(); }
  const std::vector<std::int64_t>& targets() const noexcept { return *targets_; }
  std::uint64_t fingerprint() const noexcept;

 private:
  array_rows rows_;
  std::shared_ptr<const std::vector<std::int64_t>> targets_;
  const std::int64_t* first_;
};

}  // namespace detail

/// A source of the items of a vector, which it takes ownership of. \throws wick::error when the vector is
/// empty
template <class T>
detail::memory_items<T> in_memory(std::vector<T> items) {
  return detail::memory_items<T>(std::move(items));
}

/// A std::span or another range doesn't compile: in_memory() takes ownership of the items.
template <class Range>
  requires requires(const Range& r) { r.begin() != r.end(); }
auto in_memory(const Range& items) {
  using item = std::remove_cvref_t<decltype(*items.begin())>;
  constexpr bool is_vector = sizeof(Range) == ~std::size_t{0};
  static_assert(is_vector,
                "wick: in_memory() takes a std::vector over, and a std::span or another range was found (see "
                "'Range'); write in_memory(std::vector(r.begin(), r.end())), which copies the items");
  return detail::memory_items<item>(std::vector<item>());
}

/// A source of the rows of a contiguous array [targets.size(), row…] of any arithmetic type, which it takes
/// ownership of. `in_memory(std::move(pixels), {28, 28}, labels)` is a TensorDataset without tensors. \throws
/// wick::error when the sizes disagree, or when there is no row
template <class T>
  requires std::is_arithmetic_v<T>
detail::memory_rows in_memory(std::vector<T> values, const shape& row, std::vector<std::int64_t> targets) {
  const detail::row_format format(row, detail::dtype_of<T>());
  if (values.size() != targets.size() * static_cast<std::size_t>(row.count())) {
    throw error("in_memory: " + std::to_string(values.size()) + " values are not " +
                std::to_string(targets.size()) + " rows (one a target) of shape " + to_string(row) +
                "; check both");
  }
  auto owner = std::make_shared<const std::vector<T>>(std::move(values));
  const auto* data = reinterpret_cast<const std::byte*>(owner->data());
  return detail::memory_rows(std::move(owner), data, format, std::move(targets));
}

/// The same over memory that the caller owns and keeps alive and unchanged.
/// \throws wick::error when there is no row, or when the pointer is null
template <class T>
  requires std::is_arithmetic_v<T>
detail::memory_rows in_memory(const T* values, const shape& row, std::vector<std::int64_t> targets) {
  if (values == nullptr) throw error("in_memory: the pointer to the values is null");
  return detail::memory_rows(nullptr, reinterpret_cast<const std::byte*>(values),
                             detail::row_format(row, detail::dtype_of<T>()), std::move(targets));
}

/// A range that only refers to its numbers doesn't compile here, either.
template <class Range>
  requires requires(const Range& r) { r.begin() != r.end(); }
detail::memory_rows in_memory(const Range&, const shape& row, std::vector<std::int64_t> targets) {
  constexpr bool is_vector = sizeof(Range) == ~std::size_t{0};
  static_assert(
      is_vector,
      "wick: in_memory() takes a std::vector of numbers over, and a std::span or another range was "
      "found (see 'Range'); write in_memory(r.data(), row, targets) when what it refers to lives as "
      "long as the loader, else in_memory(std::vector(r.begin(), r.end()), row, targets)");
  return in_memory(std::vector<float>(), row, std::move(targets));
}

}  // namespace wick
