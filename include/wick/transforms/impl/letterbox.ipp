// Implements transforms/letterbox.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cmath>

#include <wick/ext/fingerprint.hpp>
#include <wick/image/detail/arguments.hpp>
#include <wick/transforms/letterbox.hpp>

namespace wick::inline v0_1::detail {

letterbox_stage::letterbox_stage(int height, int width, const letterbox_options& options)
    : height_(height), width_(width), options_(options) {
  detail::require_size(traits.name, height, width);
}

rect letterbox_stage::place_for(int width, int height) const noexcept {
  double scale = std::min(static_cast<double>(width_) / width, static_cast<double>(height_) / height);
  if (!options_.enlarge) scale = std::min(scale, 1.0);
  const auto side = [scale](int of, int most) {
    return static_cast<int>(std::clamp(std::nearbyint(of * scale), 1.0, static_cast<double>(most)));
  };
  const int across = side(width, width_), down = side(height, height_);
  return {(width_ - across) / 2, (height_ - down) / 2, across, down};
}

geometry_steps letterbox_stage::decide(frame size, context&) const noexcept {
  const rect place = place_for(size.width, size.height);
  const geometry_step resize = geometry_step::resize(place.width, place.height, options_.interpolation);
  const edges around(place.x, place.y, width_ - place.x - place.width, height_ - place.y - place.height);
  if (around.empty()) return resize;
  return {resize, geometry_step::pad({around, options_.fill, padding_mode::constant, options_.mask_fill})};
}

std::uint64_t letterbox_stage::fingerprint() const noexcept {
  return fingerprint_hash::of(height_, width_, options_.fill.levels, options_.mask_fill, options_.enlarge,
                              options_.interpolation);
}

}  // namespace wick::detail

namespace wick::inline v0_1 {

detail::letterbox_stage letterbox(int height, int width, const letterbox_options& options) {
  return {height, width, options};
}

detail::letterbox_stage letterbox(int size, const letterbox_options& options) {
  return {size, size, options};
}

}  // namespace wick
