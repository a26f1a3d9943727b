// Arrays in memory as images and masks: rows of tensors, of idx files, or of arrays that were read.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <wick/batch/detail/fields.hpp>
#include <wick/ext/stage.hpp>
#include <wick/image/detail/first_part.hpp>
#include <wick/image/detail/parts.hpp>
#include <wick/image/lazy_image.hpp>
#include <wick/image/mask.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/pipeline/detail/phases.hpp>
#include <wick/pipeline/shape.hpp>
#include <wick/pixels/image.hpp>

namespace wick::inline v0_1 {

/// Options of to_image().
struct to_image_options {
  /// nchw: [C, H, W]; nhwc and channels_last: [H, W, C]. Without it, the axis of size 1 to 4 is the channel
  /// axis.
  std::optional<wick::layout> layout = {};
};

namespace detail {

/// An array of bytes whose type gives its shape: std::array<std::array<std::uint8_t, 32>, 32>.
template <class T>
inline constexpr bool byte_array = false;
template <class T, std::size_t N>
inline constexpr bool byte_array<std::array<T, N>> =
    fixed_array<T>::value && !std::is_arithmetic_v<T> &&
    std::is_same_v<typename fixed_array<T>::element, std::uint8_t>;

/// An array that isn't an image.
struct still_array {
  template <class T>
  static constexpr bool is = (batchable<T> && !is_picture<T> && !placed<T>) || byte_array<T>;
};

/// The meaning of an array's extents.
struct picture_axes {
  int width = 0, height = 0, channels = 0;
  bool planes = false;  ///< [C, H, W]
  /// \throws wick::error for a type other than uint8, or a shape that isn't an image's
  picture_axes(const shape& extents, dtype type, const to_image_options& options);

  /// `write(to)` writes the array in its own order.
  template <class Write>
  image pixels(Write write) const {
    image out(width, height, channels);
    if (!planes || channels == 1) {
      write(reinterpret_cast<std::byte*>(out.data()));
    } else {
      std::vector<std::byte> bytes(out.pixels().size());
      write(bytes.data());
      interleave(bytes.data(), out);
    }
    return out;
  }

 private:
  static void interleave(const std::byte* planes, image& to) noexcept;
};

/// to_image() makes lazy images, and to_mask() makes masks.
template <class Made>
class from_array_stage {
 public:
  static constexpr stage_traits traits{.name = std::is_same_v<Made, mask> ? "to_mask" : "to_image",
                                       .has_fingerprint = true,
                                       .in_slot = slot_phase::decode};

  explicit from_array_stage(const to_image_options& options) noexcept : options_(options) {}

  template <class Array>
    requires(still_array::is<Array>)
  Made operator()(const Array& from, context&) const {
    return Made(pixels_of(from));
  }
  template <class Item>
    requires holds_behind<still_array, Item>
  auto operator()(Item item, context& c) const {
    return with_first<still_array>(std::move(item), [&](auto&& from) { return (*this)(from, c); });
  }
  std::uint64_t fingerprint() const noexcept {
    return options_.layout ? 1 + static_cast<std::uint64_t>(*options_.layout) : 0;
  }

 private:
  template <class Array>
  image pixels_of(const Array& from) const {
    if constexpr (byte_array<Array>) {
      shape extents;
      fixed_array<Array>::append(extents);
      return picture_axes(extents, dtype::uint8, options_).pixels([&](std::byte* to) {
        std::memcpy(to, &from, sizeof from);
      });
    } else {
      using access = field_access<Array>;
      return picture_axes(access::extents(from), access::type(from), options_).pixels([&](std::byte* to) {
        access::write_to(from, {to, false});
      });
    }
  }
  to_image_options options_;
};
using to_image_stage = from_array_stage<lazy_image>;
using to_mask_stage = from_array_stage<mask>;

}  // namespace detail

/// Array → image, so that arrays in memory can be cropped, rotated, and jittered like decoded images:
/// `tensor_dataset(images, labels) | shuffle() | to_image() | random_crop(32, {.padding = 4}) |
/// batch(128)`. It takes the first part of the sample that is an array of uint8: a row of tensor_dataset() or
/// idx(), or the result of decode_raw(). [H, W] is gray; [C, H, W] and [H, W, C] have 1 to 4 channels.
/// torchvision.transforms.v2.ToImage. An image batches as [C, H, W]. \throws wick::error when the array
/// isn't one of these
detail::to_image_stage to_image(const to_image_options& options = {});

/// Array → mask: class numbers that follow the image, [H, W] of uint8. It takes the first part that is
/// still an array: after to_image(), the mask: `tensor_dataset<memory_view>(images, masks) | to_image() |
/// to_mask()`. \throws wick::error when the array has another shape or type
detail::to_mask_stage to_mask(const to_image_options& options = {});

}  // namespace wick
