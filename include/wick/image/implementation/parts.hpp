/// \file
/// The bodies of what image/detail/steps.hpp and image/detail/parts.hpp declare. Included in exactly one file
/// of a program.
#pragma once

#include <string>

#include <wick/image/detail/parts.hpp>
#include <wick/image/detail/steps.hpp>
#include <wick/pixels/geometry.hpp>
#include <wick/sample/error.hpp>

namespace wick::detail {

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

frame geometry_step::after(frame before) const noexcept {
  switch (what) {
    case kind::crop:
      return {part.width, part.height};
    case kind::resize:
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

void require_one_size(frame first, frame other) {
  if (first == other) return;
  throw error("the parts of the sample have two sizes, " + size_text(first.width, first.height) + " px and " +
              size_text(other.width, other.height) +
              " px, and their geometry is one; make them alike on disk, or resize one of them in a stage of "
              "your own");
}

}  // namespace wick::detail
