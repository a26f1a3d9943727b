/// \file
/// The bodies of what image/affine.hpp declares. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <wick/image/affine.hpp>
#include <wick/image/detail/arguments.hpp>
#include <wick/image/lazy_image.hpp>
#include <wick/image/pad.hpp>
#include <wick/pixels/geometry.hpp>
#include <wick/resample/warp.hpp>
#include <wick/sample/context.hpp>
#include <wick/sample/error.hpp>
#include <wick/sample/fingerprint.hpp>
#include <wick/sample/random.hpp>

namespace wick::detail {

using center_point = std::optional<std::array<double, 2>>;

inline void require_warp(std::string_view stage, interpolation filter, const center_point& center = {}) {
  if (filter != interpolation::nearest && filter != interpolation::bilinear)
    throw error(std::string(stage) + " has no such interpolation; give nearest or bilinear");
  if (center && !(std::isfinite((*center)[0]) && std::isfinite((*center)[1])))
    throw error(std::string(stage) + ": the center is no point of a picture; give x and y in pixels");
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

inline std::uint64_t fingerprint_of(interpolation filter, const fill_color& fill,
                                    const center_point& center) {
  const std::array<double, 2> at = center.value_or(std::array<double, 2>{});
  return fingerprint_hash::of(filter, fill.levels, center.has_value(), at);
}

inline point from_middle(const lazy_image& picture, const center_point& center) {
  if (!center) return {};
  return {(*center)[0] - picture.width() * 0.5, (*center)[1] - picture.height() * 0.5};
}

inline warp warp_of(const lazy_image& picture, const std::array<double, 8>& to_source, interpolation filter,
                    const fill_color& fill) {
  return {to_source, true, filter, fill.levels, picture.width(), picture.height()};
}

inline void move(lazy_image& picture, double angle, const point& translate, double scale, const point& shear,
                 interpolation filter, const fill_color& fill, const center_point& center) {
  picture.warp(warp_of(picture, inverse_affine(from_middle(picture, center), angle, translate, scale, shear),
                       filter, fill));
}

// ---- affine

affine_stage::affine_stage(const affine_options& options) : options_(options) {
  detail::require_warp(name, options.interpolation, options.center);
  require_finite(name, "angle", options.angle);
  for (const double v : options.translate) require_finite(name, "translate", v);
  for (const double v : options.shear) require_finite(name, "shear", v);
  if (!(options.scale > 0 && std::isfinite(options.scale)))
    throw error("affine: scale " + std::to_string(options.scale) + "; give a factor above 0");
}

lazy_image affine_stage::operator()(lazy_image picture, context&) const {
  const affine_options& o = options_;
  move(picture, o.angle, {o.translate[0], o.translate[1]}, o.scale, {o.shear[0], o.shear[1]}, o.interpolation,
       o.fill, o.center);
  return picture;
}

std::uint64_t affine_stage::fingerprint() const noexcept {
  const affine_options& o = options_;
  return fingerprint_hash::of(o.angle, o.translate, o.scale, o.shear,
                              fingerprint_of(o.interpolation, o.fill, o.center));
}

// ---- rotate

void turn(lazy_image& picture, double angle, const rotate_options& o) {
  angle = std::fmod(angle, 360);
  if (angle < 0) angle += 360;
  if (!o.center) {
    if (angle == 0) return;
    if (angle == 180) {
      picture.mirror_x();
      picture.mirror_y();
      return;
    }
    if ((angle == 90 || angle == 270) && (o.expand || picture.width() == picture.height())) {
      const double sign = angle == 90 ? 1 : -1;
      warp by = warp_of(picture, {0, -sign, 0, sign, 0, 0, 0, 0}, interpolation::nearest, o.fill);
      std::swap(by.width, by.height);
      return picture.warp(by);
    }
  }
  const auto to_source = inverse_affine(from_middle(picture, o.center), -angle, {}, 1, {});
  warp by = warp_of(picture, to_source, o.interpolation, o.fill);
  if (o.expand) detail::expand(by, picture.width(), picture.height());
  picture.warp(by);
}

inline std::uint64_t fingerprint_of(const rotate_options& o) {
  return fingerprint_hash::of(o.expand, fingerprint_of(o.interpolation, o.fill, o.center));
}

rotate_stage::rotate_stage(double angle, const rotate_options& options) : angle_(angle), options_(options) {
  detail::require_warp(name, options.interpolation, options.center);
  require_finite(name, "angle", angle);
}

lazy_image rotate_stage::operator()(lazy_image picture, context&) const {
  detail::turn(picture, angle_, options_);
  return picture;
}

std::uint64_t rotate_stage::fingerprint() const noexcept {
  return fingerprint_hash::of(angle_, fingerprint_of(options_));
}

random_rotation_stage::random_rotation_stage(const degree_range& degrees, const rotate_options& options)
    : degrees_(degrees), options_(options) {
  detail::require_warp(name, options.interpolation, options.center);
  require_degrees(name, "degrees", degrees);
}

lazy_image random_rotation_stage::operator()(lazy_image picture, context& ctx) const {
  detail::turn(picture, ctx.random().uniform(degrees_.least, degrees_.most), options_);
  return picture;
}

std::uint64_t random_rotation_stage::fingerprint() const noexcept {
  return fingerprint_hash::of(degrees_.least, degrees_.most, fingerprint_of(options_));
}

// ---- random_affine

random_affine_stage::random_affine_stage(const degree_range& degrees, const random_affine_options& options)
    : degrees_(degrees), options_(options) {
  detail::require_warp(name, options.interpolation, options.center);
  require_degrees(name, "degrees", degrees);
  require_degrees(name, "shear_x", options.shear_x);
  require_degrees(name, "shear_y", options.shear_y);
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

lazy_image random_affine_stage::operator()(lazy_image picture, context& ctx) const {
  const random_affine_options& o = options_;
  random_stream& random = ctx.random();
  const double angle = random.uniform(degrees_.least, degrees_.most);
  const double far_x = o.translate[0] * picture.width(), far_y = o.translate[1] * picture.height();
  const double x = std::nearbyint(random.uniform(-far_x, far_x)),
               y = std::nearbyint(random.uniform(-far_y, far_y));
  const double scale = random.uniform(o.scale[0], o.scale[1]);
  const double shear_x = random.uniform(o.shear_x.least, o.shear_x.most),
               shear_y = random.uniform(o.shear_y.least, o.shear_y.most);
  move(picture, angle, {x, y}, scale, {shear_x, shear_y}, o.interpolation, o.fill, o.center);
  return picture;
}

std::uint64_t random_affine_stage::fingerprint() const noexcept {
  const random_affine_options& o = options_;
  return fingerprint_hash::of(degrees_.least, degrees_.most, o.translate, o.scale, o.shear_x.least,
                              o.shear_x.most, o.shear_y.least, o.shear_y.most,
                              fingerprint_of(o.interpolation, o.fill, o.center));
}

// ---- perspective

inline bool find_source(const corners& from, const corners& to, std::array<double, 8>& to_source) {
  std::array<point, 4> a, b;
  for (std::size_t i = 0; i < 4; ++i) {
    a[i] = {from[i][0], from[i][1]};
    b[i] = {to[i][0], to[i][1]};
  }
  return inverse_perspective(a, b, to_source);
}

inline void tilt(lazy_image& picture, const std::array<double, 8>& to_source, interpolation filter,
                 const fill_color& fill) {
  warp by = warp_of(picture, to_source, filter, fill);
  by.centered = false;
  picture.warp(by);
}

perspective_stage::perspective_stage(const corners& from, const corners& to,
                                     const perspective_options& options)
    : options_(options) {
  detail::require_warp(name, options.interpolation);
  if (!find_source(from, to, to_source_)) {
    throw error(
        "perspective: three of the corners lie on a line, no picture can be seen like that; move one");
  }
}

lazy_image perspective_stage::operator()(lazy_image picture, context&) const {
  tilt(picture, to_source_, options_.interpolation, options_.fill);
  return picture;
}

std::uint64_t perspective_stage::fingerprint() const noexcept {
  return fingerprint_hash::of(to_source_, fingerprint_of(options_.interpolation, options_.fill, {}));
}

random_perspective_stage::random_perspective_stage(double distortion_scale,
                                                   const random_perspective_options& options)
    : distortion_(distortion_scale), options_(options) {
  detail::require_warp(name, options.interpolation);
  detail::require_probability(name, options.p);
  if (!(distortion_scale >= 0 && distortion_scale <= 1)) {
    throw error("random_perspective: distortion_scale " + std::to_string(distortion_scale) + "; give 0 to 1");
  }
}

lazy_image random_perspective_stage::operator()(lazy_image picture, context& ctx) const {
  random_stream& random = ctx.random();
  if (!random.bernoulli(options_.p)) return picture;
  const int width = picture.width(), height = picture.height();
  const auto reach = [&](int size) {
    return static_cast<std::uint64_t>(static_cast<int>(distortion_ * (size / 2)) + 1);
  };
  const auto near = [&](int size) { return static_cast<double>(random.below(reach(size))); };
  const auto far = [&](int size) { return size - 1 - static_cast<double>(random.below(reach(size))); };
  const double right = width - 1, bottom = height - 1;
  const corners from{{{0, 0}, {right, 0}, {right, bottom}, {0, bottom}}};
  corners to;
  to[0] = {near(width), near(height)};
  to[1] = {far(width), near(height)};
  to[2] = {far(width), far(height)};
  to[3] = {near(width), far(height)};
  std::array<double, 8> to_source;
  if (!find_source(from, to, to_source)) return picture;  // a few pixels, on a line
  tilt(picture, to_source, options_.interpolation, options_.fill);
  return picture;
}

std::uint64_t random_perspective_stage::fingerprint() const noexcept {
  return fingerprint_hash::of(distortion_, options_.p,
                              fingerprint_of(options_.interpolation, options_.fill, {}));
}

}  // namespace wick::detail

namespace wick {

detail::affine_stage affine(const detail::affine_options& options) { return detail::affine_stage(options); }

detail::rotate_stage rotate(double degrees, const detail::rotate_options& options) {
  return {degrees, options};
}

detail::perspective_stage perspective(const detail::corners& from, const detail::corners& to,
                                      const detail::perspective_options& options) {
  return {from, to, options};
}

detail::random_rotation_stage random_rotation(const detail::degree_range& degrees,
                                              const detail::rotate_options& options) {
  return {degrees, options};
}

detail::random_affine_stage random_affine(const detail::degree_range& degrees,
                                          const detail::random_affine_options& options) {
  return {degrees, options};
}

detail::random_perspective_stage random_perspective(double distortion_scale,
                                                    const detail::random_perspective_options& options) {
  return {distortion_scale, options};
}

}  // namespace wick
