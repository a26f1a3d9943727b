// Points in an image (joints, corners): they move with the image, and are marked when they are outside.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <wick/image/detail/steps.hpp>

namespace wick::inline v0_1 {

/// Points. None is ever dropped: the k-th stays the k-th. In a sample, they follow the image's crops,
/// resizes, flips, and pads. A flip doesn't exchange the points of left and right hands.
/// torchvision.tv_tensors.KeyPoints.
struct keypoints {
  std::vector<std::array<float, 2>> xy;  ///< x, y: the first pixel is 0, the last of a row width - 1
  /// For each point, 0 when it isn't visible; other numbers are yours (COCO's 1 and 2). A point that is
  /// outside after a step gets 0, and keeps it. None before the first geometry stage: all are visible.
  std::vector<std::uint8_t> visible{};

  std::size_t size() const noexcept { return xy.size(); }
  bool empty() const noexcept { return size() == 0; }
  /// Every geometry stage calls this first, whether or not it changes this image.
  void fill_visible();

  friend bool operator==(const keypoints&, const keypoints&) = default;
};

namespace detail {

/// Applies a geometry step to the points of an image that had the size `in`. \throws wick::error when the
/// marks aren't as many as the points, or for a mirrored border
void follow(keypoints& of, const geometry_step& step, frame in);

}  // namespace detail

}  // namespace wick
