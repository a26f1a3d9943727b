/// \file
/// Points in a picture (joints, corners): moved as the picture is, and marked when they are outside.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <wick/image/detail/steps.hpp>

namespace wick::inline v0_1 {

/// Points, of which none is ever dropped: the k-th stays the k-th. In a sample they go along with the
/// picture's crops, resizes, flips and pads. What a flip makes of left and right hands is not known here.
/// torchvision.tv_tensors.KeyPoints.
struct keypoints {
  std::vector<std::array<float, 2>> xy;  ///< x, y: the first pixel is 0, the last of a row width - 1
  /// Of each, 0 when it is not to be seen; other numbers are yours (COCO's 1 and 2). A point that is outside
  /// after a step gets 0, and keeps it. None before the first stage of
  /// geometry: all are seen.
  std::vector<std::uint8_t> visible{};

  std::size_t size() const noexcept { return xy.size(); }
  bool empty() const noexcept { return xy.empty(); }
  /// What a stage of geometry does first, whether or not it changes this picture.
  void fill_visible() {
    if (visible.empty()) visible.assign(size(), 1);
  }

  friend bool operator==(const keypoints&, const keypoints&) = default;
};

namespace detail {

/// Does what a stage of geometry did to the picture, which had the size `in`. \throws wick::error when
/// there are not as many marks as points, or for a border that is mirrored
void follow(keypoints& of, const geometry_step& step, frame in);

}  // namespace detail

}  // namespace wick
