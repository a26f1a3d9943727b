// Implements image/keypoints.hpp. Included in exactly one file of a program.
#pragma once

#include <string>

#include <wick/image/keypoints.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/pixels/detail/warp.hpp>

namespace wick::inline v0_1 {

void keypoints::fill_visible() {
  if (visible.empty()) visible.assign(size(), 1);
}

void detail::follow(keypoints& of, const geometry_step& step, frame in) {
  using kind = geometry_step::kind;
  of.fill_visible();
  if (of.visible.size() != of.size()) {
    throw error("keypoints: " + std::to_string(of.visible.size()) + " marks of " + std::to_string(of.size()) +
                " points; give as many, or none");
  }
  // x * across + right, y * down + below, in single precision, as in torchvision.
  float across = 1, right = 0, down = 1, below = 0;
  switch (step.what) {
    case kind::crop:
      right = static_cast<float>(-step.part.x), below = static_cast<float>(-step.part.y);
      break;
    case kind::resize:
      across = static_cast<float>(static_cast<double>(step.size.width) / in.width);
      down = static_cast<float>(static_cast<double>(step.size.height) / in.height);
      break;
    case kind::mirror_x:
      across = -1, right = static_cast<float>(in.width - 1);
      break;
    case kind::mirror_y:
      down = -1, below = static_cast<float>(in.height - 1);
      break;
    case kind::pad:
      require_plain_border(step.around.mode, "keypoints");
      right = static_cast<float>(step.around.by.left), below = static_cast<float>(step.around.by.top);
      break;
    case kind::warp: {
      const projection there = step.places(in);
      for (auto& [x, y] : of.xy) {
        const point at = there({x, y});
        x = static_cast<float>(at.x), y = static_cast<float>(at.y);
      }
      break;
    }
    case kind::drop_boxes:
      break;
  }
  const frame out = step.after(in);
  const auto width = static_cast<float>(out.width), height = static_cast<float>(out.height);
  for (std::size_t i = 0; i < of.size(); ++i) {
    auto& [x, y] = of.xy[i];
    x = x * across + right;
    y = y * down + below;
    if (!(x >= 0 && x < width && y >= 0 && y < height)) of.visible[i] = 0;
  }
}

}  // namespace wick
