// Implements transforms/affine.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>

#include <wick/image/detail/arguments.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/pipeline/random.hpp>
#include <wick/pixels/detail/warp.hpp>
#include <wick/transforms/affine.hpp>

namespace wick::inline v0_1::detail {

using center_point = std::optional<std::array<double, 2>>;

inline void require_warp(std::string_view stage, interpolation filter, const center_point& center = {}) {
  if (filter != interpolation::nearest && filter != interpolation::bilinear)
    throw error(std::string(stage) + " has no such interpolation; give nearest or bilinear");
  // Farther away, Torch's floats couldn't tell neighboring pixels apart.
  constexpr double furthest = 1e6;
  if (center && !(std::abs((*center)[0]) <= furthest && std::abs((*center)[1]) <= furthest)) {
    throw error(std::string(stage) +
                ": the center isn't a point near a picture; give x and y in pixels, -1000000 to 1000000");
  }
}

inline void require_finite(std::string_view stage, std::string_view what, double value) {
  if (!std::isfinite(value))
    throw error(std::string(stage) + ": " + std::string(what) + " " + std::to_string(value) +
                "; give a finite number");
}

inline void require_degrees(std::string_view stage, std::string_view what, const degree_range& range) {
  if (!(std::isfinite(range.least) && std::isfinite(range.most) && range.least <= range.most)) {
    throw error(std::string(stage) + ": " + std::string(what) + " " + std::to_string(range.least) + " to " +
                std::to_string(range.most) +
                "; give degrees, the least first, or one number above 0 for both sides");
  }
}

inline std::uint64_t fingerprint_of(interpolation filter, const fill_color& fill, int mask_fill,
                                    const center_point& center) {
  const std::array<double, 2> at = center.value_or(std::array<double, 2>{});
  const std::uint64_t all = fingerprint_hash::of(filter, fill.levels, center.has_value(), at);
  return mask_fill == 0 ? all : fingerprint_hash::of(all, mask_fill);
}

inline point from_middle(frame size, const center_point& center) {
  if (!center) return {};
  return {(*center)[0] - size.width * 0.5, (*center)[1] - size.height * 0.5};
}

inline warp warp_of(frame size, const std::array<double, 8>& to_source, interpolation filter,
                    const fill_color& fill) {
  return {to_source, true, filter, fill.levels, size.width, size.height};
}

inline geometry_step move(frame size, double angle, const point& translate, double scale, const point& shear,
                          interpolation filter, const fill_color& fill, int mask_fill,
                          const center_point& center) {
  const auto to_source = inverse_affine(from_middle(size, center), angle, translate, scale, shear);
  return geometry_step::warp(warp_of(size, to_source, filter, fill), mask_fill);
}

// ---- affine

affine_stage::affine_stage(const affine_options& options) : options_(options) {
  detail::require_warp(traits.name, options.interpolation, options.center);
  require_finite(traits.name, "angle", options.angle);
  for (const double v : options.translate) require_finite(traits.name, "translate", v);
  for (const double v : options.shear) require_finite(traits.name, "shear", v);
  if (!(options.scale > 0 && std::isfinite(options.scale)))
    throw error("affine: scale " + std::to_string(options.scale) + "; give a factor above 0");
}

geometry_steps affine_stage::decide(frame size, context&) const noexcept {
  const affine_options& o = options_;
  return move(size, o.angle, {o.translate[0], o.translate[1]}, o.scale, {o.shear[0], o.shear[1]},
              o.interpolation, o.fill, o.mask_fill, o.center);
}

std::uint64_t affine_stage::fingerprint() const noexcept {
  const affine_options& o = options_;
  return fingerprint_hash::of(o.angle, o.translate, o.scale, o.shear,
                              fingerprint_of(o.interpolation, o.fill, o.mask_fill, o.center));
}

// ---- rotate

geometry_steps rotation_steps(frame size, double angle, const rotate_options& o) noexcept {
  angle = std::fmod(angle, 360);
  if (angle < 0) angle += 360;
  if (!o.center) {
    if (angle == 0) return {};
    if (angle == 180) {
      const warp by = warp_of(size, {-1, 0, 0, 0, -1, 0, 0, 0}, interpolation::nearest, o.fill);
      return geometry_step::warp(by, o.mask_fill);
    }
    if ((angle == 90 || angle == 270) && (o.expand || size.width == size.height)) {
      const double sign = angle == 90 ? 1 : -1;
      warp by = warp_of(size, {0, -sign, 0, sign, 0, 0, 0, 0}, interpolation::nearest, o.fill);
      std::swap(by.width, by.height);
      return geometry_step::warp(by, o.mask_fill);
    }
  }
  const auto to_source = inverse_affine(from_middle(size, o.center), -angle, {}, 1, {});
  warp by = warp_of(size, to_source, o.interpolation, o.fill);
  if (o.expand) detail::expand(by, size.width, size.height);
  return geometry_step::warp(by, o.mask_fill, o.expand);
}

inline std::uint64_t fingerprint_of(const rotate_options& o) {
  return fingerprint_hash::of(o.expand, fingerprint_of(o.interpolation, o.fill, o.mask_fill, o.center));
}

rotate_stage::rotate_stage(double angle, const rotate_options& options) : angle_(angle), options_(options) {
  detail::require_warp(traits.name, options.interpolation, options.center);
  require_finite(traits.name, "angle", angle);
}

geometry_steps rotate_stage::decide(frame size, context&) const noexcept {
  return detail::rotation_steps(size, angle_, options_);
}

std::uint64_t rotate_stage::fingerprint() const noexcept {
  return fingerprint_hash::of(angle_, fingerprint_of(options_));
}

random_rotation_stage::random_rotation_stage(const degree_range& degrees, const rotate_options& options)
    : degrees_(degrees), options_(options) {
  detail::require_warp(traits.name, options.interpolation, options.center);
  require_degrees(traits.name, "degrees", degrees);
}

geometry_steps random_rotation_stage::decide(frame size, context& ctx) const noexcept {
  return detail::rotation_steps(size, ctx.random().uniform(degrees_.least, degrees_.most), options_);
}

std::uint64_t random_rotation_stage::fingerprint() const noexcept {
  return fingerprint_hash::of(degrees_.least, degrees_.most, fingerprint_of(options_));
}

// ---- random_affine

random_affine_stage::random_affine_stage(const degree_range& degrees, const random_affine_options& options)
    : degrees_(degrees), options_(options) {
  detail::require_warp(traits.name, options.interpolation, options.center);
  require_degrees(traits.name, "degrees", degrees);
  require_degrees(traits.name, "shear_x", options.shear_x);
  require_degrees(traits.name, "shear_y", options.shear_y);
  for (const double share : options.translate) {
    if (!(share >= 0 && share <= 1)) {
      throw error("random_affine: translate " + std::to_string(share) +
                  "; give shares of the width and the height, 0 to 1");
    }
  }
  const auto& [least, most] = options.scale;
  if (!(least > 0 && least <= most && std::isfinite(most))) {
    throw error("random_affine: scale " + std::to_string(least) + " to " + std::to_string(most) +
                "; give factors above 0, the least one first");
  }
}

geometry_steps random_affine_stage::decide(frame size, context& ctx) const noexcept {
  const random_affine_options& o = options_;
  random_stream& random = ctx.random();
  const double angle = random.uniform(degrees_.least, degrees_.most);
  const double far_x = o.translate[0] * size.width, far_y = o.translate[1] * size.height;
  const double x = std::nearbyint(random.uniform(-far_x, far_x)),
               y = std::nearbyint(random.uniform(-far_y, far_y));
  const double scale = random.uniform(o.scale[0], o.scale[1]);
  const double shear_x = random.uniform(o.shear_x.least, o.shear_x.most),
               shear_y = random.uniform(o.shear_y.least, o.shear_y.most);
  return move(size, angle, {x, y}, scale, {shear_x, shear_y}, o.interpolation, o.fill, o.mask_fill, o.center);
}

std::uint64_t random_affine_stage::fingerprint() const noexcept {
  const random_affine_options& o = options_;
  return fingerprint_hash::of(degrees_.least, degrees_.most, o.translate, o.scale, o.shear_x.least,
                              o.shear_x.most, o.shear_y.least, o.shear_y.most,
                              fingerprint_of(o.interpolation, o.fill, o.mask_fill, o.center));
}

// ---- perspective

inline bool find_source(const corners& from, const corners& to, std::array<double, 8>& to_source) {
  std::array<point, 4> a, b;
  for (std::size_t i = 0; i < 4; ++i) {
    a[i] = {from[i][0], from[i][1]};
    b[i] = {to[i][0], to[i][1]};
  }
  std::array<double, 8> back;  // exists unless three of `from` are on a line
  return inverse_perspective(a, b, to_source) && inverse_perspective(b, a, back);
}

inline geometry_step tilt(frame size, const std::array<double, 8>& to_source, interpolation filter,
                          const fill_color& fill, int mask_fill) {
  warp by = warp_of(size, to_source, filter, fill);
  by.centered = false;
  return geometry_step::warp(by, mask_fill);
}

perspective_stage::perspective_stage(const corners& from, const corners& to,
                                     const perspective_options& options)
    : options_(options) {
  detail::require_warp(traits.name, options.interpolation);
  if (!find_source(from, to, to_source_)) {
    throw error(
        "perspective: three of the corners lie on a line, no picture can be seen like that; move one");
  }
}

geometry_steps perspective_stage::decide(frame size, context&) const noexcept {
  return tilt(size, to_source_, options_.interpolation, options_.fill, options_.mask_fill);
}

std::uint64_t perspective_stage::fingerprint() const noexcept {
  return fingerprint_hash::of(to_source_,
                              fingerprint_of(options_.interpolation, options_.fill, options_.mask_fill, {}));
}

random_perspective_stage::random_perspective_stage(double distortion_scale,
                                                   const random_perspective_options& options)
    : distortion_(distortion_scale), options_(options) {
  detail::require_warp(traits.name, options.interpolation);
  detail::require_probability(traits.name, options.p);
  if (!(distortion_scale >= 0 && distortion_scale <= 1)) {
    throw error("random_perspective: distortion_scale " + std::to_string(distortion_scale) + "; give 0 to 1");
  }
}

geometry_steps random_perspective_stage::decide(frame size, context& ctx) const noexcept {
  random_stream& random = ctx.random();
  if (!random.bernoulli(options_.p)) return {};
  const int width = size.width, height = size.height;
  const auto reach = [&](int side) {
    const int half = side / 2;
    return static_cast<std::uint64_t>(distortion_ * half) + 1;
  };
  const auto near = [&](int side) { return static_cast<double>(random.below(reach(side))); };
  const auto far = [&](int side) { return side - 1 - static_cast<double>(random.below(reach(side))); };
  const double right = width - 1, bottom = height - 1;
  const corners from{{{0, 0}, {right, 0}, {right, bottom}, {0, bottom}}};
  corners to;
  to[0] = {near(width), near(height)};
  to[1] = {far(width), near(height)};
  to[2] = {far(width), far(height)};
  to[3] = {near(width), far(height)};
  std::array<double, 8> to_source;
  if (!find_source(from, to, to_source)) return {};  // a few pixels, on a line
  return tilt(size, to_source, options_.interpolation, options_.fill, options_.mask_fill);
}

std::uint64_t random_perspective_stage::fingerprint() const noexcept {
  return fingerprint_hash::of(distortion_, options_.p,
                              fingerprint_of(options_.interpolation, options_.fill, options_.mask_fill, {}));
}

}  // namespace wick::detail

namespace wick::inline v0_1 {

detail::affine_stage affine(const affine_options& options) { return detail::affine_stage(options); }

detail::rotate_stage rotate(double degrees, const rotate_options& options) { return {degrees, options}; }

detail::perspective_stage perspective(const detail::corners& from, const detail::corners& to,
                                      const perspective_options& options) {
  return {from, to, options};
}

detail::random_rotation_stage random_rotation(const degree_range& degrees, const rotate_options& options) {
  return {degrees, options};
}

detail::random_affine_stage random_affine(const degree_range& degrees, const random_affine_options& options) {
  return {degrees, options};
}

detail::random_perspective_stage random_perspective(double distortion_scale,
                                                    const random_perspective_options& options) {
  return {distortion_scale, options};
}

}  // namespace wick
