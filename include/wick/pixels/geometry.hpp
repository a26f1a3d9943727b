/// \file
/// Lazy geometry: crops, resizes and mirrors of a picture gathered into one plan before any pixel exists.
#pragma once

#include <cstdint>
#include <string>

#include <wick/sample/error.hpp>

namespace wick {

namespace detail {

/// A rectangle of pixels; x to the right, y down.
struct rect {
  int x = 0, y = 0, width = 0, height = 0;
  friend bool operator==(const rect&, const rect&) = default;
};

}  // namespace detail

/// How a resize weighs the source pixels. When it shrinks, all but `nearest` widen with the factor, so that
/// nothing aliases (Pillow's resize, torchvision's antialias=True).
enum class interpolation : std::uint8_t {
  nearest,   ///< the pixel under the center
  bilinear,  ///< triangle
  bicubic,   ///< Keys' cubic with a = -0.5
};

namespace detail {

/// "500 x 375", as messages name a size: width first.
inline std::string size_text(std::int64_t width, std::int64_t height) {
  return std::to_string(width) + " x " + std::to_string(height);
}

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
  static plan whole(int width, int height) noexcept {
    return {{0, 0, width, height},  width, height, {0, 0, width, height}, false, false,
            interpolation::bilinear};
  }
  bool resizes() const noexcept { return width != source.width || height != source.height; }
  /// The result is `source` as it is.
  bool only_cuts() const noexcept { return !resizes() && !mirror_x && !mirror_y; }
  int output_width() const noexcept { return window.width; }
  int output_height() const noexcept { return window.height; }
  friend bool operator==(const plan&, const plan&) = default;
};

/// Cuts `part` out of what the plan gives so far. Always exact: before a resize it narrows the source, after
/// one the window. \throws wick::error when `part` is empty or not inside the picture.
inline void compose_crop(plan& p, rect part) {
  const int width = p.output_width(), height = p.output_height();
  if (part.width < 1 || part.height < 1) {
    throw error("crop " + size_text(part.width, part.height) + " is empty; give at least 1 px a side");
  }
  if (part.width > width || part.height > height) {
    throw error("crop " + size_text(part.width, part.height) + " is larger than the picture, " +
                size_text(width, height) + "; resize first or pad");
  }
  if (part.x < 0 || part.y < 0 || part.x > width - part.width || part.y > height - part.height) {
    throw error("crop " + size_text(part.width, part.height) + " at (" + std::to_string(part.x) + ", " +
                std::to_string(part.y) + ") reaches past the picture, " + size_text(width, height) +
                "; move or shrink it");
  }
  if (p.mirror_x) part.x = width - part.width - part.x;
  if (p.mirror_y) part.y = height - part.height - part.y;
  if (p.resizes()) {
    p.window = {p.window.x + part.x, p.window.y + part.y, part.width, part.height};
  } else {
    // Nothing is resampled yet, so window and source are the same rectangle.
    p.source = {p.source.x + part.x, p.source.y + part.y, part.width, part.height};
    p.width = part.width;
    p.height = part.height;
    p.window = {0, 0, part.width, part.height};
  }
}

/// Resizes what the plan gives so far. False, and nothing done, when one pass can't give the same pixels:
/// after an earlier resize, or with `nearest` after a mirror (its ties fall to one side). Carry out the plan
/// first then. \throws wick::error when a side is less than 1
inline bool compose_resize(plan& p, int width, int height, interpolation filter) {
  if (width < 1 || height < 1) {
    throw error("resize to " + size_text(width, height) + " leaves no picture; give at least 1 px a side");
  }
  if (width == p.output_width() && height == p.output_height()) return true;
  if (p.resizes()) return false;
  if (filter == interpolation::nearest && (p.mirror_x || p.mirror_y)) return false;
  p.width = width;
  p.height = height;
  p.window = {0, 0, width, height};
  p.filter = filter;
  return true;
}

/// Mirrors what the plan gives so far; always exact.
inline void compose_mirror_x(plan& p) noexcept { p.mirror_x = !p.mirror_x; }
inline void compose_mirror_y(plan& p) noexcept { p.mirror_y = !p.mirror_y; }

}  // namespace detail

}  // namespace wick
