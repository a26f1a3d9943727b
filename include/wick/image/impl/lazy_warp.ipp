// Implements the warps of image/detail/planned_picture.hpp: rotation, shear, and perspective. Included in
// exactly one file of a program.
#pragma once

#include <cstring>

#include <wick/image/detail/planned_picture.hpp>
#include <wick/pipeline/error.hpp>

namespace wick::inline v0_1::detail {

void planned_picture::warp_wide(const geometry_step& step) {
  carry_out();
  // Treats each 16-bit number as two channels of an image: nearest moves them together.
  const auto fill = static_cast<std::uint16_t>(step.around.mask_fill);
  detail::warp by = step.pixels();
  std::memcpy(by.fill.data(), &fill, sizeof fill);
  image pairs(wide().width, wide().height, 2);
  std::memcpy(pairs.data(), wide().levels.data(), pairs.pixels().size());
  const image moved = warped(pairs.view(), by);
  wide_rows out(by.width, by.height, 1, 0);
  std::memcpy(out.levels.data(), moved.data(), moved.pixels().size());
  hold(std::move(out));
}

void planned_picture::warp(const detail::warp& by) {
  refuse_normalized("affine, rotate and perspective");
  refuse_wide("affine, rotate and perspective");
  if (as_.indexes && by.filter != interpolation::nearest) {
    throw error(
        "affine, rotate and perspective that blend would make numbers of classes which the mask does not "
        "have; "
        "give them .interpolation = wick::interpolation::nearest");
  }
  if (by.width == width() && by.height == height() && by.centered &&
      by.to_source == std::array<double, 8>{-1, 0, 0, 0, -1, 0, 0, 0}) {
    mirror_x();
    return mirror_y();
  }
  if (!untouched()) carry_out();
  const phase_timer timer(slot_phase::resize);
  hold(warped(decoded().view(), by));
}

}  // namespace wick::detail
