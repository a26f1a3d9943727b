// Geometry stages other than rectangles: affine, rotate, and perspective, fixed or random. They need the
// pixels, so earlier operations are carried out first. Masks, boxes, keypoints, and polygons follow.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include <wick/ext/fingerprint.hpp>
#include <wick/ext/stage.hpp>
#include <wick/image/detail/parts.hpp>
#include <wick/image/detail/steps.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/pixels/geometry.hpp>

namespace wick::inline v0_1 {

/// A range of degrees: one number x for -x to x, or both ends.
struct degree_range {
  double least = 0, most = 0;

  constexpr degree_range(double both) noexcept : degree_range(-both, both) {}  // NOLINT: implicit on purpose
  constexpr degree_range(double from, double to) noexcept : least(from), most(to) {}
};

/// Options of affine().
struct affine_options {
  double angle = 0;                                                  ///< degrees, clockwise
  std::array<double, 2> translate{};                                 ///< pixels to the right and down
  double scale = 1;                                                  ///< above 0
  std::array<double, 2> shear{};                                     ///< degrees along x and along y
  wick::interpolation interpolation = wick::interpolation::nearest;  ///< nearest or bilinear
  fill_color fill{};                                                 ///< the fill color outside the source
  int mask_fill = 0;                                                 ///< the same for masks
  std::optional<std::array<double, 2>> center{};                     ///< x, y in pixels; default: the middle
};

namespace detail {

class affine_stage : public geometry_stage<affine_stage> {
 public:
  static constexpr stage_traits traits{
      .name = "affine", .has_fingerprint = true, .in_slot = slot_phase::resize};

  explicit affine_stage(const affine_options& options);
  geometry_steps decide(frame size, context&) const noexcept;
  std::uint64_t fingerprint() const noexcept;

 private:
  affine_options options_;
};

}  // namespace detail

/// Options of rotate().
struct rotate_options {
  wick::interpolation interpolation = wick::interpolation::nearest;  ///< nearest or bilinear
  bool expand = false;                            ///< make the result large enough for all of the image
  fill_color fill{};                              ///< the fill color outside the source
  int mask_fill = 0;                              ///< the same for masks
  std::optional<std::array<double, 2>> center{};  ///< x, y in pixels; default: the middle
};

namespace detail {

/// torchvision's rotate: degrees, counterclockwise.
geometry_steps rotation_steps(frame size, double angle, const rotate_options& options) noexcept;

class rotate_stage : public geometry_stage<rotate_stage> {
 public:
  static constexpr stage_traits traits{
      .name = "rotate", .has_fingerprint = true, .in_slot = slot_phase::resize};

  rotate_stage(double angle, const rotate_options& options);
  geometry_steps decide(frame size, context&) const noexcept;
  std::uint64_t fingerprint() const noexcept;

 private:
  double angle_;
  rotate_options options_;
};

class random_rotation_stage : public geometry_stage<random_rotation_stage> {
 public:
  static constexpr stage_traits traits{
      .name = "random_rotation", .has_fingerprint = true, .in_slot = slot_phase::resize};

  random_rotation_stage(const degree_range& degrees, const rotate_options& options);
  geometry_steps decide(frame size, context& ctx) const noexcept;
  std::uint64_t fingerprint() const noexcept;

 private:
  degree_range degrees_;
  rotate_options options_;
};

}  // namespace detail

/// Options of random_affine().
struct random_affine_options {
  std::array<double, 2> translate{};  ///< greatest shift, as shares of the width and the height, 0 to 1
  std::array<double, 2> scale{1, 1};  ///< least and greatest factor
  degree_range shear_x = 0;           ///< degrees along x
  degree_range shear_y = 0;           ///< degrees along y
  wick::interpolation interpolation = wick::interpolation::nearest;  ///< nearest or bilinear
  fill_color fill{};                                                 ///< the fill color outside the source
  int mask_fill = 0;                                                 ///< the same for masks
  std::optional<std::array<double, 2>> center{};                     ///< x, y in pixels; default: the middle
};

namespace detail {

class random_affine_stage : public geometry_stage<random_affine_stage> {
 public:
  static constexpr stage_traits traits{
      .name = "random_affine", .has_fingerprint = true, .in_slot = slot_phase::resize};

  random_affine_stage(const degree_range& degrees, const random_affine_options& options);
  geometry_steps decide(frame size, context& ctx) const noexcept;
  std::uint64_t fingerprint() const noexcept;

 private:
  degree_range degrees_;
  random_affine_options options_;
};

/// x and y of four corners, in any order, which must be the same for both lists.
using corners = std::array<std::array<double, 2>, 4>;

}  // namespace detail

/// Options of perspective().
struct perspective_options {
  wick::interpolation interpolation = wick::interpolation::bilinear;  ///< nearest or bilinear
  fill_color fill{};                                                  ///< the fill color outside the source
  int mask_fill = 0;                                                  ///< the same for masks
};

namespace detail {

class perspective_stage : public geometry_stage<perspective_stage> {
 public:
  static constexpr stage_traits traits{
      .name = "perspective", .has_fingerprint = true, .in_slot = slot_phase::resize};

  perspective_stage(const corners& from, const corners& to, const perspective_options& options);
  geometry_steps decide(frame size, context&) const noexcept;
  std::uint64_t fingerprint() const noexcept;

 private:
  std::array<double, 8> to_source_{};
  perspective_options options_;
};

}  // namespace detail

/// Options of random_perspective().
struct random_perspective_options {
  double p = 0.5;                                                     ///< probability of tilting an image
  wick::interpolation interpolation = wick::interpolation::bilinear;  ///< nearest or bilinear
  fill_color fill{};                                                  ///< the fill color outside the source
  int mask_fill = 0;                                                  ///< the same for masks
};

namespace detail {

class random_perspective_stage : public geometry_stage<random_perspective_stage> {
 public:
  static constexpr stage_traits traits{
      .name = "random_perspective", .has_fingerprint = true, .in_slot = slot_phase::resize};

  random_perspective_stage(double distortion_scale, const random_perspective_options& options);
  geometry_steps decide(frame size, context& ctx) const noexcept;
  std::uint64_t fingerprint() const noexcept;

 private:
  double distortion_;
  random_perspective_options options_;
};

}  // namespace detail

/// Rotates, moves, scales, and shears the image: `affine({.angle = 10, .translate = {4, 0}})`. Its size
/// doesn't change. torchvision.transforms.v2.functional.affine.
detail::affine_stage affine(const affine_options& options);
/// Rotates the image counterclockwise. torchvision.transforms.v2.functional.rotate.
detail::rotate_stage rotate(double degrees, const rotate_options& options = {});
/// Moves the four corners `from` of the image to `to`, all {x, y} in pixels; its size doesn't change.
/// torchvision.transforms.v2.functional.perspective. \throws wick::error when three corners of `from` or of
/// `to` are on a line
detail::perspective_stage perspective(const std::array<std::array<double, 2>, 4>& from,
                                      const std::array<std::array<double, 2>, 4>& to,
                                      const perspective_options& options = {});
/// Rotates the image by a random angle of the range: `random_rotation(15)`, `random_rotation({0, 90})`.
/// torchvision.transforms.v2.RandomRotation.
detail::random_rotation_stage random_rotation(const degree_range& degrees,
                                              const rotate_options& options = {});
/// Rotates, moves, scales, and shears the image by random amounts, all uniform in their ranges.
/// torchvision.transforms.v2.RandomAffine.
detail::random_affine_stage random_affine(const degree_range& degrees,
                                          const random_affine_options& options = {});
/// Moves each corner inward by up to half of `distortion_scale`, with probability p; the image's size
/// doesn't change. torchvision.transforms.v2.RandomPerspective.
detail::random_perspective_stage random_perspective(double distortion_scale = 0.5,
                                                    const random_perspective_options& options = {});

}  // namespace wick
