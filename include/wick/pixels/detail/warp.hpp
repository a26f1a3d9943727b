// Geometry beyond rectangles: rotations, shears, and perspectives. One pass over the result fetches each
// pixel from its source.
#pragma once

#include <array>
#include <cstdint>

#include <wick/pixels/geometry.hpp>
#include <wick/pixels/image.hpp>

namespace wick::inline v0_1::detail {

struct point {
  double x = 0, y = 0;
};

/// A 3 x 3 matrix in row-major order, for points (x, y, 1). A pixel's center is at (x + 0.5, y + 0.5).
struct projection {
  std::array<double, 9> m{1, 0, 0, 0, 1, 0, 0, 0, 1};

  point operator()(const point& p) const noexcept;
  /// Applies `after` first, then this one.
  projection operator*(const projection& after) const noexcept;
  projection inverse() const noexcept;
};

/// The source of each result pixel: (a x + b y + c, d x + e y + f) / (g x + h y + 1).
struct warp {
  std::array<double, 8> to_source{1, 0, 0, 0, 1, 0, 0, 0};  ///< a to h
  bool centered = true;  ///< coordinates are relative to each image's center, not its upper left corner
  interpolation filter = interpolation::nearest;  ///< nearest or bilinear
  std::array<std::uint8_t, 4> fill{};             ///< the color outside the source
  int width = 0, height = 0;                      ///< of the result

  /// Maps points of the result to a source of this size, both relative to the upper left corner.
  projection to_source_of(int source_width, int source_height) const noexcept;
};

/// Torch's _get_inverse_affine_matrix; angles in degrees, clockwise; `center` is relative to the image's
/// center.
std::array<double, 8> inverse_affine(const point& center, double angle, const point& translate, double scale,
                                     const point& shear) noexcept;
/// The perspective that maps the corners `from` to `to`. False, with to_source unspecified, if three of `to`
/// are on a line.
bool inverse_perspective(const std::array<point, 4>& from, const std::array<point, 4>& to,
                         std::array<double, 8>& to_source) noexcept;
/// Sets the size that holds the transformed image: torchvision's _compute_affine_output_size, at least 1 px a
/// side.
void expand(warp& by, int width, int height) noexcept;

/// torchvision's affine, rotate, and perspective for uint8 tensors, with Torch's rounding of source
/// positions. Alpha moves with the colors.
image warped(const picture_view& from, const warp& by);

}  // namespace wick::detail
