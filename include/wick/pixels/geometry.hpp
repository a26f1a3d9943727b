// Lazy geometry: an image's crops, resizes, and mirrors, gathered into one plan before any pixel exists.
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

/// Whether each output pixel is one of the input pixels.
constexpr bool is_nearest(interpolation filter) noexcept {
  return filter == interpolation::nearest || filter == interpolation::nearest_corner;
}

/// "500 x 375", a size in messages: width first.
std::string size_text(std::int64_t width, std::int64_t height);

/// The operations on an image: cut out `source`, resize that to width x height, keep `window` of the result,
/// and mirror it. The filter never looks past `source`.
struct plan {
  rect source;
  int width = 0, height = 0;
  rect window;
  bool mirror_x = false;  ///< swap left and right
  bool mirror_y = false;  ///< swap top and bottom
  interpolation filter = interpolation::bilinear;

  /// The unchanged image.
  static plan whole(int width, int height) noexcept;
  bool resizes() const noexcept { return width != source.width || height != source.height; }
  /// Whether the result is `source`, unchanged.
  bool only_cuts() const noexcept { return !resizes() && !mirror_x && !mirror_y; }
  int output_width() const noexcept { return window.width; }
  int output_height() const noexcept { return window.height; }
  friend bool operator==(const plan&, const plan&) = default;
};

/// Cuts `part` out of the plan's result so far. Always exact: it narrows the source before a resize, and the
/// window after one. \throws wick::error when `part` is empty or not inside the image.
void compose_crop(plan& p, rect part);

/// Resizes the plan's result so far. Returns false and does nothing when one pass can't give the same pixels:
/// after an earlier resize, or with `nearest` after a mirror (its ties fall to one side). In that case, carry
/// out the plan first. \throws wick::error when a side is less than 1
bool compose_resize(plan& p, int width, int height, interpolation filter);

/// Mirrors the plan's result so far; always exact.
inline void compose_mirror_x(plan& p) noexcept { p.mirror_x = !p.mirror_x; }
inline void compose_mirror_y(plan& p) noexcept { p.mirror_y = !p.mirror_y; }

}  // namespace detail

}  // namespace wick
