/// \file
/// A sample that already lies in memory as an array: batch() copies it into its slot, nobody decodes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include <wick/flow/shape.hpp>

namespace wick {

/// What all rows of an array in memory have in common.
struct row_format {
  /// \throws wick::error for an extent below 1
  row_format(const shape& of, dtype element)
      : extents(of), type(element), bytes(static_cast<std::size_t>(of.count()) * size_of(element)) {
    for (const std::int64_t e : of) {
      if (e < 1)
        throw error("wick: a row of shape " + to_string(of) + " has no elements; extents are at least 1");
    }
  }

  shape extents;  ///< of one row: [28, 28] in an array [60000, 28, 28]
  dtype type;
  std::size_t bytes;  ///< of one row
};

/// One row of an array in memory. Two pointers, both into its source, which outlives it.
class memory_view {
 public:
  memory_view() noexcept = default;
  memory_view(const std::byte* data, const row_format& format) noexcept : data_(data), format_(&format) {}

  const std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return format_->bytes; }
  const shape& extents() const noexcept { return format_->extents; }
  dtype type() const noexcept { return format_->type; }
  void write_to(slot to) const noexcept { std::memcpy(to.data, data_, format_->bytes); }

  /// The elements as what they are. \throws wick::error when `T` is not their type
  template <class T>
  const T* as() const {
    if (dtype_of<T>() != type()) {
      throw error("wick::memory_view: elements are " + std::string(name_of(type())) + ", not " +
                  std::string(name_of(dtype_of<T>())));
    }
    return reinterpret_cast<const T*>(data_);
  }

 private:
  const std::byte* data_ = nullptr;
  const row_format* format_ = nullptr;
};

}  // namespace wick
