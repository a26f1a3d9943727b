// Outlines in an image, with their labels: they move with the image, and are clipped at its border.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <wick/image/detail/steps.hpp>

namespace wick::inline v0_1 {

/// Outlines, each with its label and id. In a sample, they follow the image's crops, resizes, flips, and
/// pads. A crop clips them (Sutherland and Hodgman, "Reentrant polygon clipping", 1974: the parts of an
/// outline that falls apart stay joined along the border), and removes an outline, with its label and id,
/// when nothing of it is left. torchvision has no polygons; the coordinates are those of wick::boxes.
struct polygons {
  /// The corners of each outline, x and y in px of the image; the last is joined to the first.
  std::vector<std::vector<std::array<float, 2>>> outlines;
  std::vector<std::int64_t> labels{};  ///< the class of each outline; one for each, or none
  std::vector<std::int64_t> ids{};  ///< your number of the object that each is part of; one for each, or none

  std::size_t size() const noexcept { return outlines.size(); }
  bool empty() const noexcept { return outlines.empty(); }

  friend bool operator==(const polygons&, const polygons&) = default;
};

namespace detail {

/// Applies a geometry step to the outlines of an image that had the size `in`. \throws wick::error when the
/// labels or ids aren't as many as the outlines, when a coordinate isn't finite, or for a mirrored border
void follow(polygons& of, const geometry_step& step, frame in);

}  // namespace detail

}  // namespace wick
