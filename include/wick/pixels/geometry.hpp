/// \file
/// Lazy geometry: crops, resizes and mirrors of a picture gathered into one plan before any pixel exists.
#pragma once

#include <cstdint>
#include <string>

namespace wick::inline v0_1 {

/// A rectangle of pixels; x to the right, y down.
struct rect {
  int x = 0, y = 0, width = 0, height = 0;
  friend bool operator==(const rect&, const rect&) = default;
};

/// How a resize weighs the source pixels. When it shrinks, `bilinear` and `bicubic` widen with the factor, so
/// that nothing aliases (Pillow's resize, torchvision's antialias=True).
enum class interpolation : std::uint8_t {
  nearest,         ///< the pixel under the center: Pillow's, and torch's `nearest-exact`
  bilinear,        ///< triangle
  bicubic,         ///< Keys' cubic with a = -0.5
  nearest_corner,  ///< the pixel under the upper left corner: torch's `nearest`, as masks are resized
};

namespace detail {

/// Each pixel comes out as one that goes in.
constexpr bool is_nearest(interpolation filter) noexcept {
  return filter == interpolation::nearest || filter == interpolation::nearest_corner;
}

/// "500 x 375", as messages name a size: width first.
std::string size_text(std::int64_t width, std::int64_t height);

/// What is to be done to a picture: cut `source` out, resize that to width x height, keep `window` of the
/// result, mirror it. The filter never looks past `source`.
struct plan {
  rect source;
  int width = 0, height = 0;
  rect window;
  bool mirror_x = false;  ///< left and right change places
  bool mirror_y = false;  ///< top and bottom change places
  interpolation filter = interpolation::bilinear;

  /// The picture as it is.
  static plan whole(int width, int height) noexcept;
  bool resizes() const noexcept { return width != source.width || height != source.height; }
  /// The result is `source` as it is.
  bool only_cuts() const noexcept { return !resizes() && !mirror_x && !mirror_y; }
  int output_width() const noexcept { return window.width; }
  int output_height() const noexcept { return window.height; }
  friend bool operator==(const plan&, const plan&) = default;
};

/// Cuts `part` out of what the plan gives so far. Always exact: before a resize it narrows the source, after
/// one the window. \throws wick::error when `part` is empty or not inside the picture.
void compose_crop(plan& p, rect part);

/// Resizes what the plan gives so far. False, and nothing done, when one pass can't give the same pixels:
/// after an earlier resize, or with `nearest` after a mirror (its ties fall to one side). Carry out the plan
/// first then. \throws wick::error when a side is less than 1
bool compose_resize(plan& p, int width, int height, interpolation filter);

/// Mirrors what the plan gives so far; always exact.
inline void compose_mirror_x(plan& p) noexcept { p.mirror_x = !p.mirror_x; }
inline void compose_mirror_y(plan& p) noexcept { p.mirror_y = !p.mirror_y; }

}  // namespace detail

}  // namespace wick
