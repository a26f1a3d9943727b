// Implements transforms/multi_crop.hpp. Included in exactly one file of a program.
#pragma once

#include <wick/image/detail/arguments.hpp>
#include <wick/image/detail/steps.hpp>
#include <wick/pixels/geometry.hpp>
#include <wick/transforms/crop.hpp>
#include <wick/transforms/multi_crop.hpp>

namespace wick::inline v0_1::detail {

five_crop_stage::five_crop_stage(int height, int width) : height_(height), width_(width) {
  detail::require_size(traits.name, height, width);
}

std::array<lazy_image, 5> five_crop_stage::operator()(lazy_image picture, context& c) const {
  const int right = picture.width() - width_, below = picture.height() - height_;
  const std::array<rect, 4> corners{{{0, 0, width_, height_},
                                     {right, 0, width_, height_},
                                     {0, below, width_, height_},
                                     {right, below, width_, height_}}};
  picture.carry_out();
  std::array<lazy_image, 5> out;
  for (std::size_t i = 0; i < corners.size(); ++i) {
    out[i] = picture.share();
    out[i].crop(corners[i]);
  }
  out[4] = center_crop(height_, width_)(std::move(picture), c);
  return out;
}

std::uint64_t five_crop_stage::fingerprint() const noexcept { return fingerprint_hash::of(height_, width_); }

}  // namespace wick::detail

namespace wick::inline v0_1 {

detail::five_crop_stage five_crop(int height, int width) { return {height, width}; }

detail::five_crop_stage five_crop(int size) { return {size, size}; }

}  // namespace wick
