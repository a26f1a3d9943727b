// A sample that is already an array in memory: batch() copies it into its slot, without decoding.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include <wick/pipeline/error.hpp>
#include <wick/pipeline/shape.hpp>

namespace wick::inline v0_1 {

namespace detail {

/// Copies a row whose elements aren't contiguous: runs of contiguous bytes, in nested loops. Dimensions that
/// can be walked as one are one loop.
class strided_loop {
 public:
  strided_loop() noexcept = default;
  /// `strides` are in elements.
  strided_loop(const shape& extents, const shape& strides, std::size_t element) noexcept;
  /// Whether all elements are contiguous.
  bool packed() const noexcept { return loops_ == 0; }
  /// The bytes from the beginning of a row to its end, gaps included.
  std::size_t span() const noexcept { return span_; }

  void copy(const std::byte* from, std::byte* to) const noexcept;

 private:
  struct loop {
    std::int64_t extent = 0, step = 0;  // step in bytes
  };

  /// `Run` is run_ as a compile-time constant, or 0.
  template <std::size_t Run>
  void walk(const std::byte* from, std::byte* to) const noexcept {
    const std::size_t run = Run != 0 ? Run : run_;
    std::array<std::int64_t, shape::max_rank + 1> at{};
    for (;;) {
      const std::byte* p = from;
      for (std::int64_t i = loop_[0].extent; i > 0; --i, p += loop_[0].step, to += run) {
        std::memcpy(to, p, Run != 0 ? Run : run);
      }
      std::size_t l = 1;
      for (; l < loops_; ++l) {
        from += loop_[l].step;
        if (++at[l] < loop_[l].extent) break;
        from -= loop_[l].extent * loop_[l].step;
        at[l] = 0;
      }
      if (l >= loops_) return;
    }
  }

  std::array<loop, shape::max_rank + 1> loop_{};  // the innermost first
  std::size_t loops_ = 0, run_ = 0, span_ = 0;
};

/// The format that all rows of an array in memory share.
struct row_format {
  /// \throws wick::error for an extent below 1
  row_format(const shape& of, dtype element);
  /// For rows whose elements are `strides` elements apart: one stride for each extent, none negative.
  row_format(const shape& of, dtype element, const shape& strides);
  /// The bytes from the beginning of a row in the array to its end, gaps included.
  std::size_t span() const noexcept { return packed ? bytes : walk.span(); }

  shape extents;  ///< of one row: [28, 28] in an array [60000, 28, 28]
  dtype type;
  bool packed = true;  ///< a row's elements are contiguous in the array, the last dimension fastest
  std::size_t bytes;   ///< of one row, packed
  strided_loop walk;
};

/// The location of a row.
class row_place {
 public:
  row_place() noexcept = default;
  row_place(const std::byte* data, const row_format& format) noexcept : data_(data), format_(&format) {}

 protected:
  const std::byte* data_ = nullptr;
  const row_format* format_ = nullptr;
};

}  // namespace detail

/// One row of an array in memory: two pointers into its source, which outlives it.
class memory_view : detail::row_place {
 public:
  using detail::row_place::row_place;

  /// The contiguous elements. \throws wick::error when they aren't contiguous in the array; write_to() copies
  /// them in any case
  const std::byte* data() const {
    if (!format_->packed) refuse();
    return data_;
  }
  /// The number of bytes that write_to() writes.
  std::size_t size() const noexcept { return format_->bytes; }
  const shape& extents() const noexcept { return format_->extents; }
  dtype type() const noexcept { return format_->type; }
  void write_to(ext::slot to) const noexcept {
    if (format_->packed) [[likely]]
      std::memcpy(to.data, data_, format_->bytes);
    else
      format_->walk.copy(data_, to.data);
  }

  /// The elements in their own type. \throws wick::error when `T` isn't that type, or when the elements
  /// aren't contiguous
  template <class T>
  const T* as() const {
    if (detail::dtype_of<T>() != type()) {
      throw error("wick::memory_view: elements are " + std::string(to_string(type())) + ", not " +
                  std::string(to_string(detail::dtype_of<T>())));
    }
    return reinterpret_cast<const T*>(data());
  }

 private:
  [[noreturn, gnu::noinline]] void refuse() const;
};

namespace detail {

template <>
inline constexpr bool is_view<memory_view> = true;

}  // namespace detail

}  // namespace wick
