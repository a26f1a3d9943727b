/// \file
/// Arrays in memory as pictures and masks: rows of tensors, of idx files, of arrays that were read.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <wick/batch/fields.hpp>
#include <wick/image/detail/first_part.hpp>
#include <wick/image/detail/parts.hpp>
#include <wick/image/lazy_image.hpp>
#include <wick/image/mask.hpp>
#include <wick/observe/phases.hpp>
#include <wick/pixels/image.hpp>
#include <wick/sample/context.hpp>
#include <wick/sample/shape.hpp>
#include <wick/sample/stage.hpp>

namespace wick {

namespace detail {

struct array_options {
  /// nchw: [C, H, W]; nhwc: [H, W, C]. Without it the axis of 1 to 4 is that of the channels.
  std::optional<wick::layout> layout = {};
};

/// An array of bytes that has its shape by its type: std::array<std::array<std::uint8_t, 32>, 32>.
template <class T>
inline constexpr bool byte_array = false;
template <class T, std::size_t N>
inline constexpr bool byte_array<std::array<T, N>> =
    fixed_array<T>::value && !std::is_arithmetic_v<T> &&
    std::is_same_v<typename fixed_array<T>::element, std::uint8_t>;

/// An array, and no picture.
struct still_array {
  template <class T>
  static constexpr bool is = (batchable<T> && !is_picture<T> && !placed<T>) || byte_array<T>;
};

/// Which extents of an array are what.
struct picture_axes {
  int width = 0, height = 0, channels = 0;
  bool planes = false;  ///< [C, H, W]
  /// \throws wick::error for other numbers than uint8, and a shape that is none of a picture
  picture_axes(const shape& extents, dtype type, const array_options& options);
  std::size_t size() const noexcept {
    return static_cast<std::size_t>(width) * static_cast<std::size_t>(height) *
           static_cast<std::size_t>(channels);
  }
};

/// What to_image() and to_mask() have alike.
class array_stage {
 public:
  explicit array_stage(const array_options& options) noexcept : options_(options) {}
  std::uint64_t fingerprint() const noexcept;

 protected:
  template <class Array>
  image copy(const Array& from) const {
    if constexpr (byte_array<Array>) {
      shape extents;
      fixed_array<Array>::append(extents);
      const picture_axes axes(extents, dtype::uint8, options_);
      return of_bytes(axes, reinterpret_cast<const std::byte*>(&from));
    } else {
      using access = field_access<Array>;
      const picture_axes axes(access::extents(from), access::type(from), options_);
      std::vector<std::byte> bytes(axes.size());
      access::write_to(from, {bytes.data(), false});
      return of_bytes(axes, bytes.data());
    }
  }

 private:
  static image of_bytes(const picture_axes& axes, const std::byte* from);
  array_options options_;
};

class to_image_stage : public array_stage {
 public:
  using stage_kind = on_sample_or_data;
  using stage_hooks = hooks<hook::fingerprint>;
  static constexpr std::string_view name = "to_image";
  static constexpr phase in_slot = phase::decode;
  using array_stage::array_stage;

  template <class Array>
    requires(still_array::is<Array>)
  lazy_image operator()(const Array& from, context&) const {
    return copy(from);
  }
  template <class Item>
    requires holds_behind<still_array, Item>
  auto operator()(Item item, context& c) const {
    return with_first<still_array>(std::move(item), [&](auto&& from) { return (*this)(from, c); });
  }
};

class to_mask_stage : public array_stage {
 public:
  using stage_kind = on_sample_or_data;
  using stage_hooks = hooks<hook::fingerprint>;
  static constexpr std::string_view name = "to_mask";
  static constexpr phase in_slot = phase::decode;
  using array_stage::array_stage;

  template <class Array>
    requires(still_array::is<Array>)
  mask operator()(const Array& from, context&) const {
    return mask(copy(from));
  }
  template <class Item>
    requires holds_behind<still_array, Item>
  auto operator()(Item item, context& c) const {
    return with_first<still_array>(std::move(item), [&](auto&& from) { return (*this)(from, c); });
  }
};

}  // namespace detail

/// Array → picture, so that arrays in memory can be cropped, turned and jittered as decoded pictures are:
/// `tensors(images, labels) | shuffle() | to_image() | random_crop(32, {.padding = 4}) | batch(128)`. It
/// takes the first part of the sample that is an array of uint8: a row of tensors() or idx(), what
/// decode_raw() gives. [H, W] is gray, [C, H, W] and [H, W, C] have 1 to 4 channels.
/// torchvision.transforms.v2.ToImage. A picture batches as [C, H, W]. \throws wick::error when the array is
/// none of these
detail::to_image_stage to_image(const detail::array_options& options = {});

/// Array → mask: numbers of classes that follow the picture, [H, W] of uint8. It takes the first part that is
/// still an array, behind to_image() that of the mask: `tensors(images, masks) | to_image() | to_mask()`.
/// \throws wick::error when the array has another shape or type
detail::to_mask_stage to_mask(const detail::array_options& options = {});

}  // namespace wick
