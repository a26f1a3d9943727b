/// \file
/// Geometry that is no rectangle: rotations, shears, perspectives. One pass over the result, each pixel taken
/// from where it comes from.
#pragma once

#include <array>
#include <cstdint>

#include <wick/pixels/geometry.hpp>
#include <wick/pixels/image.hpp>

namespace wick::inline v0_1::detail {

struct point {
  double x = 0, y = 0;
};

/// A 3 x 3 matrix, row by row, on points (x, y, 1): a pixel's middle is at (x + 0.5, y + 0.5).
struct projection {
  std::array<double, 9> m{1, 0, 0, 0, 1, 0, 0, 0, 1};

  point operator()(const point& p) const noexcept;
  /// First `after`, then this one.
  projection operator*(const projection& after) const noexcept;
  projection inverse() const noexcept;
};

/// Where each pixel of the result comes from: (a x + b y + c, d x + e y + f) / (g x + h y + 1).
struct warp {
  std::array<double, 8> to_source{1, 0, 0, 0, 1, 0, 0, 0};  ///< a to h
  bool centered =
      true;  ///< points are counted from the middle of either picture, not from the upper left corner
  interpolation filter = interpolation::nearest;  ///< nearest or bilinear
  std::array<std::uint8_t, 4> fill{};             ///< where nothing comes from the picture
  int width = 0, height = 0;                      ///< of the result

  /// Source points of the result's, from the upper left corners, in a picture of this size.
  projection to_source_of(int source_width, int source_height) const noexcept;
};

/// Torch's _get_inverse_affine_matrix; angles in degrees, clockwise; `center` from the picture's middle.
std::array<double, 8> inverse_affine(const point& center, double angle, const point& translate, double scale,
                                     const point& shear) noexcept;
/// The perspective that takes these corners to those. False, and nothing said, when three of `to` are on a
/// line.
bool inverse_perspective(const std::array<point, 4>& from, const std::array<point, 4>& to,
                         std::array<double, 8>& to_source) noexcept;
/// The size that holds a picture turned by such a matrix: torchvision's _compute_affine_output_size, and at
/// least 1 px a side.
void expand(warp& by, int width, int height) noexcept;

/// torchvision's affine, rotate and perspective on uint8 tensors, with Torch's roundings in where a pixel
/// comes from. Alpha is moved as the colors are.
image warped(const picture_view& from, const warp& by);

}  // namespace wick::detail
