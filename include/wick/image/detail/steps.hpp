/// \file
/// What a stage of geometry does to the parts of a sample, one step at a time: crop, resize, mirror, a
/// border, a turn.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <wick/image/border.hpp>
#include <wick/pixels/detail/warp.hpp>
#include <wick/pixels/geometry.hpp>

namespace wick::inline v0_1::detail {

inline constexpr std::int64_t most_pixels = 178'956'970;  ///< that a stage may make of a smaller picture

/// The size of all parts of a sample that have pixels.
struct frame {
  int width = 0, height = 0;
  friend bool operator==(const frame&, const frame&) = default;
};

/// A border, and what stands in it.
struct border {
  edges by;
  fill_color fill;
  padding_mode mode = padding_mode::constant;
  int mask_fill = 0;
};

/// One thing that is done to each part of a sample that has a place. What a kind has no use for is not set.
struct geometry_step {
  enum class kind : std::uint8_t { crop, resize, mirror_x, mirror_y, pad, warp, drop_boxes };

  kind what = kind::crop;
  rect part;               ///< crop: what is kept
  bool by_middle = false;  ///< crop: boxes and outlines whose middle is not in it are gone
  frame size;              ///< resize, warp: to what
  interpolation filter = interpolation::bilinear;  ///< resize, warp
  border around;                                   ///< pad; the fills of warp
  std::array<double, 8> to_source{};               ///< warp: as in detail::warp
  bool centered = true;                            ///< warp: as there
  bool expanded = false;                ///< warp: the least x and y of the picture's corners come to lie at 0
  float min_size = 0, min_visible = 0;  ///< drop_boxes

  static geometry_step crop(const rect& part) noexcept;
  static geometry_step resize(int width, int height, interpolation filter) noexcept;
  static geometry_step mirror_x() noexcept;
  static geometry_step mirror_y() noexcept;
  static geometry_step pad(const border& around) noexcept;
  static geometry_step warp(const detail::warp& by, int mask_fill, bool expanded = false) noexcept;

  /// What warp does to the pixels.
  detail::warp pixels() const noexcept;
  /// What warp does to places in what has the size `before`.
  projection places(frame before) const noexcept;
  /// The size of what had `before`.
  frame after(frame before) const noexcept;
};

/// \throws wick::error when the border shows what is in the picture again: `what` is not repeated there
void require_plain_border(padding_mode mode, const char* what);

/// Up to two steps, one after the other.
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
