/// \file
/// Outlines in a picture, with their labels: moved as the picture is, and cut at its border.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <wick/image/detail/steps.hpp>

namespace wick::inline v0_1 {

/// Outlines and what belongs to each. In a sample they go along with the picture's crops, resizes, flips and
/// pads. A crop cuts them (Sutherland and Hodgman, "Reentrant polygon clipping", 1974: the parts of one that
/// falls apart stay joined along the border), and those of which nothing is left are gone, with what belongs
/// to them. torchvision has none; the coordinates are those of wick::boxes.
struct polygons {
  /// The corners of each outline, x and y in px of the picture; the last is joined with the first.
  std::vector<std::vector<std::array<float, 2>>> outlines;
  std::vector<std::int64_t> labels{};  ///< the class of each; as many, or none
  std::vector<std::int64_t> ids{};     ///< a number of yours for each: whose part it is; as many, or none

  std::size_t size() const noexcept { return outlines.size(); }
  bool empty() const noexcept { return outlines.empty(); }

  friend bool operator==(const polygons&, const polygons&) = default;
};

namespace detail {

/// Does what a stage of geometry did to the picture, which had the size `in`. \throws wick::error when
/// there are not as many labels or ids as outlines, a coordinate is no number, or for a border that is
/// mirrored
void follow(polygons& of, const geometry_step& step, frame in);

}  // namespace detail

}  // namespace wick
