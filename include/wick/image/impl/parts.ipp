// Implements image/detail/steps.hpp and image/detail/parts.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>

#include <wick/image/detail/parts.hpp>
#include <wick/pipeline/error.hpp>

namespace wick::inline v0_1::detail {

geometry_step geometry_step::crop(const rect& part) noexcept {
  geometry_step s;
  s.part = part;
  return s;
}
geometry_step geometry_step::resize(int width, int height, interpolation filter) noexcept {
  geometry_step s;
  s.what = kind::resize;
  s.size = {width, height};
  s.filter = filter;
  return s;
}
geometry_step geometry_step::mirror_x() noexcept {
  geometry_step s;
  s.what = kind::mirror_x;
  return s;
}
geometry_step geometry_step::mirror_y() noexcept {
  geometry_step s;
  s.what = kind::mirror_y;
  return s;
}
geometry_step geometry_step::pad(const border& around) noexcept {
  geometry_step s;
  s.what = kind::pad;
  s.around = around;
  return s;
}
geometry_step geometry_step::warp(const detail::warp& by, int mask_fill, bool expanded) noexcept {
  geometry_step s;
  s.what = kind::warp;
  s.size = {by.width, by.height};
  s.filter = by.filter;
  s.around.fill.levels = by.fill;
  s.around.mask_fill = mask_fill;
  s.to_source = by.to_source;
  s.centered = by.centered;
  s.expanded = expanded;
  return s;
}

detail::warp geometry_step::pixels() const noexcept {
  return {to_source, centered, filter, around.fill.levels, size.width, size.height};
}

projection geometry_step::places(frame before) const noexcept {
  const projection there = pixels().to_source_of(before.width, before.height).inverse();
  if (!expanded) return there;
  point least{HUGE_VAL, HUGE_VAL};
  for (const double x : {0.0, static_cast<double>(before.width)}) {
    for (const double y : {0.0, static_cast<double>(before.height)}) {
      const point at = there({x, y});
      least = {std::min(least.x, at.x), std::min(least.y, at.y)};
    }
  }
  return projection{{1, 0, -least.x, 0, 1, -least.y, 0, 0, 1}} * there;
}

frame geometry_step::after(frame before) const noexcept {
  switch (what) {
    case kind::crop:
      return {part.width, part.height};
    case kind::resize:
    case kind::warp:
      return size;
    case kind::pad:
      return {before.width + around.by.left + around.by.right,
              before.height + around.by.top + around.by.bottom};
    default:
      return before;
  }
}

void require_plain_border(padding_mode mode, const char* what) {
  if (mode == padding_mode::constant) return;
  throw error(std::string("a border that repeats the picture would show things without ") + what +
              "; pad with padding_mode::constant");
}

void require_pixels(frame size) {
  if (size.width > 0 && size.height > 0) return;
  throw error("the picture is empty, " + size_text(size.width, size.height) +
              " px; give it at least 1 px a side in the stage that made it, or leave the sample out there");
}

void require_bounded(const geometry_step& step, frame before) {
  constexpr std::int64_t longest = 1 << 20;
  const auto pixels = [](frame f) { return std::int64_t{f.width} * f.height; };
  const frame after = step.after(before);
  if (pixels(after) > most_pixels && pixels(after) > pixels(before)) {
    throw error("a picture of " + size_text(before.width, before.height) + " px would become one of " +
                size_text(after.width, after.height) + " px, and " + std::to_string(most_pixels) +
                " is the most; bound the longer side (.max_size), crop it before, or leave the sample out");
  }
  if (step.what == geometry_step::kind::resize && std::max(before.width, before.height) > longest) {
    throw error("a picture of " + size_text(before.width, before.height) +
                " px is to be resized, and a side of " + std::to_string(longest) +
                " px is the longest; crop it before, or leave the sample out");
  }
}

void require_one_size(frame first, frame other) {
  if (first == other) return;
  throw error("the parts of the sample have two sizes, " + size_text(first.width, first.height) + " px and " +
              size_text(other.width, other.height) +
              " px, and their geometry is one; make them alike on disk, or resize one of them in a stage of "
              "your own");
}

}  // namespace wick::detail
