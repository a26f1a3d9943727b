// The effect of a geometry stage on the parts of a sample, one step at a time: a crop, a resize, a mirror, a
// border, or a warp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <wick/image/border.hpp>
#include <wick/pixels/detail/warp.hpp>
#include <wick/pixels/geometry.hpp>

namespace wick::inline v0_1::detail {

inline constexpr std::int64_t most_pixels = 178'956'970;  ///< a stage may not enlarge an image beyond this

/// The size of all of a sample's parts that have pixels.
struct frame {
  int width = 0, height = 0;
  friend bool operator==(const frame&, const frame&) = default;
};

/// A border and its content.
struct border {
  edges by;
  fill_color fill;
  padding_mode mode = padding_mode::constant;
  int mask_fill = 0;
};

/// One operation on every part of a sample that has a place. Members that a kind doesn't use aren't set.
struct geometry_step {
  enum class kind : std::uint8_t { crop, resize, mirror_x, mirror_y, pad, warp, drop_boxes };

  kind what = kind::crop;
  rect part;                                       ///< crop: the rectangle to keep
  bool by_middle = false;                          ///< crop: drops boxes and outlines whose center is outside
  frame size;                                      ///< resize, warp: the new size
  interpolation filter = interpolation::bilinear;  ///< resize, warp
  border around;                                   ///< pad; the fills of warp
  std::array<double, 8> to_source{};               ///< warp: see detail::warp
  bool centered = true;                            ///< warp: see detail::warp
  bool expanded = false;                ///< warp: moves the least x and y of the image's corners to 0
  float min_size = 0, min_visible = 0;  ///< drop_boxes

  static geometry_step crop(const rect& part) noexcept;
  static geometry_step resize(int width, int height, interpolation filter) noexcept;
  static geometry_step mirror_x() noexcept;
  static geometry_step mirror_y() noexcept;
  static geometry_step pad(const border& around) noexcept;
  static geometry_step warp(const detail::warp& by, int mask_fill, bool expanded = false) noexcept;

  /// The warp of the pixels.
  detail::warp pixels() const noexcept;
  /// The warp of places in an image of size `before`.
  projection places(frame before) const noexcept;
  /// The size after this step, from the size `before`.
  frame after(frame before) const noexcept;
};

/// \throws wick::error when the border repeats parts of the image, which `what` can't follow
void require_plain_border(padding_mode mode, const char* what);

/// Up to two steps, in order.
class geometry_steps {
 public:
  geometry_steps() noexcept = default;
  geometry_steps(const geometry_step& one) noexcept : each_{one}, count_(1) {}  // NOLINT: implicit on purpose
  geometry_steps(const geometry_step& one, const geometry_step& two) noexcept : each_{one, two}, count_(2) {}
  const geometry_step* begin() const noexcept { return each_.data(); }
  const geometry_step* end() const noexcept { return each_.data() + count_; }

 private:
  std::array<geometry_step, 2> each_{};
  std::size_t count_ = 0;
};

}  // namespace wick::detail
