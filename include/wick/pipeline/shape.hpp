// Shapes and element types, from which batch() derives the slot of a value.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

#include <wick/pipeline/error.hpp>

namespace wick::inline v0_1 {

/// The type of a number in a sample or a batch. boolean is one byte.
enum class dtype : std::uint8_t {
  uint8,
  int8,
  int16,
  int32,
  int64,
  float16,
  float32,
  float64,
  boolean,
  bfloat16
};

namespace detail {

constexpr std::size_t size_of(dtype t) noexcept {
  switch (t) {
    case dtype::int16:
    case dtype::float16:
    case dtype::bfloat16:
      return 2;
    case dtype::int32:
    case dtype::float32:
      return 4;
    case dtype::int64:
    case dtype::float64:
      return 8;
    default:
      return 1;
  }
}

}  // namespace detail

/// The name of an element type or of a shape, as messages show it: "uint8", "float32", ….
constexpr std::string_view to_string(dtype t) noexcept {
  constexpr std::string_view names[] = {"uint8",   "int8",    "int16",   "int32",   "int64",
                                        "float16", "float32", "float64", "boolean", "bfloat16"};
  return names[static_cast<std::size_t>(t)];
}

namespace detail {

/// Whether a value refers to memory of its source, as memory_view does.
template <class T>
inline constexpr bool is_view = false;

/// The element type of an arithmetic C++ type.
template <class T>
constexpr dtype dtype_of() noexcept {
  static_assert(std::is_arithmetic_v<T> && sizeof(T) <= 8,
                "wick: only arithmetic types of up to 8 bytes have a dtype; convert a long double to double");
  if constexpr (std::is_same_v<T, bool>)
    return dtype::boolean;
  else if constexpr (std::is_floating_point_v<T>)
    return sizeof(T) == 4 ? dtype::float32 : dtype::float64;
  else if constexpr (sizeof(T) == 1)
    return std::is_unsigned_v<T> ? dtype::uint8 : dtype::int8;
  else if constexpr (sizeof(T) == 2)
    return dtype::int16;
  else if constexpr (sizeof(T) == 4)
    return dtype::int32;
  else
    return dtype::int64;
}

}  // namespace detail

/// Up to six extents of a sample, or seven of a batch, outermost first. A value type that never allocates.
class shape {
 public:
  /// The most extents of a sample.
  static constexpr std::size_t max_rank = 6;

  constexpr shape() noexcept = default;
  constexpr shape(std::initializer_list<std::int64_t> extents) {
    for (const std::int64_t e : extents) push_back(e);
  }
  /// \throws wick::error past seven dimensions
  constexpr void push_back(std::int64_t extent) {
    if (rank_ == max_rank + 1) throw error("a sample has at most 6 dimensions, a batch 7; join some of them");
    extents_[rank_++] = extent;
  }
  /// The number of extents: 3 for [3, 224, 224].
  constexpr std::size_t rank() const noexcept { return rank_; }
  constexpr std::int64_t operator[](std::size_t i) const noexcept { return extents_[i]; }
  constexpr const std::int64_t* begin() const noexcept { return extents_.data(); }
  constexpr const std::int64_t* end() const noexcept { return extents_.data() + rank_; }
  /// The number of elements: 1 for a scalar, and the highest std::int64_t if the number exceeds it.
  constexpr std::int64_t count() const noexcept {
    std::int64_t n = 1;
    for (const std::int64_t e : *this) {
      if (__builtin_mul_overflow(n, e, &n)) return std::numeric_limits<std::int64_t>::max();
    }
    return n;
  }
  friend constexpr bool operator==(const shape& a, const shape& b) noexcept {
    if (a.rank_ != b.rank_) return false;
    for (std::size_t i = 0; i < a.rank_; ++i) {
      if (a.extents_[i] != b.extents_[i]) return false;
    }
    return true;
  }

 private:
  std::array<std::int64_t, max_rank + 1> extents_{};
  std::size_t rank_ = 0;
};

/// The extents, outermost first: "[3, 224, 224]".
std::string to_string(const shape& s);

/// The memory layout of a batch of images.
enum class layout : std::uint8_t {
  channels_last,  ///< tensor [N, C, H, W], memory N H W C: preferred by many convolutions; view() over
                  ///< channels fails, so write reshape()
  nchw,           ///< tensor [N, C, H, W], contiguous
  nhwc,           ///< tensor [N, H, W, C], contiguous
};

namespace ext {

/// The place of one sample in a batch, given to `write_to`. An image writes its channels as planes (C H W)
/// when `planar`, else interleaved (H W C); other values ignore it.
struct slot {
  std::byte* data = nullptr;  ///< the sample's first byte in the batch's memory
  bool planar = false;        ///< channels of an image as planes, C H W
};

}  // namespace ext

namespace detail {
using namespace ext;
}  // namespace detail

}  // namespace wick
