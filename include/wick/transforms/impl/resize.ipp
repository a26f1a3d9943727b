// Implements transforms/resize.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <string>

#include <wick/ext/fingerprint.hpp>
#include <wick/image/detail/arguments.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/transforms/resize.hpp>

namespace wick::inline v0_1::detail {

resize_stage::resize_stage(int height, int width, const resize_options& options)
    : height_(height), width_(width), options_(options) {
  detail::require_size(traits.name, height, width);
  if (options.max_size) throw error("resize: max_size goes with resize(shorter_edge); leave it out here");
}

resize_stage::resize_stage(const resize_options& options) : options_(options) {
  if (options.max_size.value_or(0) < 1) {
    throw error(
        "resize: no size; write resize(height, width), resize(shorter_edge), or resize({.max_size = "
        "longer_edge})");
  }
}

resize_stage::resize_stage(int shorter_edge, const resize_options& options)
    : shorter_(shorter_edge), options_(options) {
  detail::require_size(traits.name, shorter_edge, shorter_edge);
  if (options.max_size && *options.max_size <= shorter_edge) {
    throw error("resize: max_size " + std::to_string(*options.max_size) +
                " must be larger than the shorter edge, " + std::to_string(shorter_edge));
  }
}

geometry_steps resize_stage::decide(frame size, context&) const noexcept {
  const auto [width, height] = size_for(size.width, size.height);
  return geometry_step::resize(width, height, options_.interpolation);
}

std::pair<int, int> resize_stage::size_for(int width, int height) const noexcept {
  if (height_ != 0) return {width_, height_};
  const int most = options_.max_size.value_or(0);
  const double is_short = std::min(width, height), is_long = std::max(width, height);
  if (shorter_ == 0) {
    const int other = std::max(1, static_cast<int>(most * is_short / is_long));
    return width <= height ? std::pair{other, most} : std::pair{most, other};
  }
  int new_short = shorter_,
      new_long = static_cast<int>(std::min(shorter_ * is_long / is_short, 2147483000.0));
  if (most != 0 && new_long > most) {
    new_short = std::max(1, static_cast<int>(static_cast<double>(most) * new_short / new_long));
    new_long = most;
  }
  return width <= height ? std::pair{new_short, new_long} : std::pair{new_long, new_short};
}

std::uint64_t resize_stage::fingerprint() const noexcept {
  return fingerprint_hash::of(shorter_, height_, width_, options_.max_size.value_or(0),
                              options_.interpolation);
}

}  // namespace wick::detail

namespace wick::inline v0_1 {

detail::resize_stage resize(int height, int width, const resize_options& options) {
  return {height, width, options};
}

detail::resize_stage resize(int shorter_edge, const resize_options& options) {
  return {shorter_edge, options};
}

detail::resize_stage resize(const resize_options& options) { return detail::resize_stage(options); }

}  // namespace wick
