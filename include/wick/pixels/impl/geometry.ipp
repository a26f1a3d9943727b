// Implements pixels/geometry.hpp. Included in exactly one file of a program.
#pragma once

#include <wick/pipeline/error.hpp>
#include <wick/pixels/geometry.hpp>

namespace wick::inline v0_1::detail {

std::string size_text(std::int64_t width, std::int64_t height) {
  return std::to_string(width) + " x " + std::to_string(height);
}

plan plan::whole(int width, int height) noexcept {
  return {{0, 0, width, height}, width, height, {0, 0, width, height}, false, false, interpolation::bilinear};
}

void compose_crop(plan& p, rect part) {
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

bool compose_resize(plan& p, int width, int height, interpolation filter) {
  if (width < 1 || height < 1) {
    throw error("resize to " + size_text(width, height) + " leaves no picture; give at least 1 px a side");
  }
  if (width == p.output_width() && height == p.output_height()) return true;
  if (p.resizes()) return false;
  if (is_nearest(filter) && (p.mirror_x || p.mirror_y)) return false;
  p.width = width;
  p.height = height;
  p.window = {0, 0, width, height};
  p.filter = filter;
  return true;
}

}  // namespace wick::detail
