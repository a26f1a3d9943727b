// Implements image/boxes.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>

#include <wick/ext/fingerprint.hpp>
#include <wick/image/boxes.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/pixels/detail/warp.hpp>
#include <wick/pixels/geometry.hpp>

namespace wick::inline v0_1 {

void boxes::fill_visible() {
  if (visible.empty()) visible.assign(size(), 1.0f);
}

namespace detail::boxing {

inline void require_as_many(const char* what, std::size_t found, std::size_t boxes) {
  if (found == 0 || found == boxes) return;
  throw error("boxes: " + std::to_string(found) + " " + what + " of " + std::to_string(boxes) +
              " boxes; give as many, or none");
}

inline void check(const boxes& of) {
  require_as_many("labels", of.labels.size(), of.size());
  require_as_many("ids", of.ids.size(), of.size());
  require_as_many("visible shares", of.visible.size(), of.size());
  for (std::size_t i = 0; i < of.size(); ++i) {
    const auto& [left, top, right, bottom] = of.xyxy[i];
    if (left <= right && top <= bottom && std::isfinite(left) && std::isfinite(right) && std::isfinite(top) &&
        std::isfinite(bottom)) {
      continue;
    }
    throw error("boxes: box " + std::to_string(i) + " is {" + std::to_string(left) + ", " +
                std::to_string(top) + ", " + std::to_string(right) + ", " + std::to_string(bottom) +
                "}; give left, top, right, bottom, and no width and height");
  }
}

inline float area(const std::array<float, 4>& box) noexcept { return (box[2] - box[0]) * (box[3] - box[1]); }

/// Keeps only some boxes, with their labels, ids, and so on.
template <class Keep>
void keep(boxes& of, Keep stays) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < of.size(); ++i) {
    if (!stays(i)) continue;
    of.xyxy[n] = of.xyxy[i];
    if (!of.labels.empty()) of.labels[n] = of.labels[i];
    if (!of.ids.empty()) of.ids[n] = of.ids[i];
    if (!of.visible.empty()) of.visible[n] = of.visible[i];
    ++n;
  }
  of.xyxy.resize(n);
  if (!of.labels.empty()) of.labels.resize(n);
  if (!of.ids.empty()) of.ids.resize(n);
  if (!of.visible.empty()) of.visible.resize(n);
}

/// Clips boxes to the image.
inline void cut(boxes& of, frame size) {
  const auto width = static_cast<float>(size.width), height = static_cast<float>(size.height);
  for (std::size_t i = 0; i < of.size(); ++i) {
    std::array<float, 4>& box = of.xyxy[i];
    const float before = area(box);
    box = {std::clamp(box[0], 0.0f, width), std::clamp(box[1], 0.0f, height), std::clamp(box[2], 0.0f, width),
           std::clamp(box[3], 0.0f, height)};
    of.visible[i] = before > 0 ? of.visible[i] * (area(box) / before) : 0.0f;
  }
  keep(of, [&](std::size_t i) { return of.visible[i] > 0; });
}

/// Strictly inside, as in torchvision.
inline bool has_middle_of(const rect& part, const std::array<float, 4>& box) noexcept {
  const float x = 0.5f * (box[0] + box[2]), y = 0.5f * (box[1] + box[3]);
  return x > static_cast<float>(part.x) && x < static_cast<float>(part.x + part.width) &&
         y > static_cast<float>(part.y) && y < static_cast<float>(part.y + part.height);
}

inline void shift(boxes& of, int x, int y) noexcept {
  const auto dx = static_cast<float>(x), dy = static_cast<float>(y);
  for (auto& box : of.xyxy) box = {box[0] + dx, box[1] + dy, box[2] + dx, box[3] + dy};
}

/// The bounding box of the mapped corners.
inline std::array<float, 4> around(const projection& there, const std::array<float, 4>& box) noexcept {
  std::array<float, 4> out{HUGE_VALF, HUGE_VALF, -HUGE_VALF, -HUGE_VALF};
  for (const float x : {box[0], box[2]}) {
    for (const float y : {box[1], box[3]}) {
      const point at = there({x, y});
      const auto to_x = static_cast<float>(at.x), to_y = static_cast<float>(at.y);
      out = {std::min(out[0], to_x), std::min(out[1], to_y), std::max(out[2], to_x), std::max(out[3], to_y)};
    }
  }
  return out;
}

}  // namespace detail::boxing

void detail::follow(boxes& of, const geometry_step& step, frame in) {
  using kind = geometry_step::kind;
  boxing::check(of);
  of.fill_visible();
  switch (step.what) {
    case kind::crop:
      if (step.by_middle)
        boxing::keep(of, [&](std::size_t i) { return boxing::has_middle_of(step.part, of.xyxy[i]); });
      boxing::shift(of, -step.part.x, -step.part.y);
      return boxing::cut(of, step.after(in));
    case kind::resize: {
      // Single precision, as in torchvision.
      const auto x = static_cast<float>(static_cast<double>(step.size.width) / in.width),
                 y = static_cast<float>(static_cast<double>(step.size.height) / in.height);
      for (auto& box : of.xyxy) box = {box[0] * x, box[1] * y, box[2] * x, box[3] * y};
      return;
    }
    case kind::mirror_x: {
      const auto width = static_cast<float>(in.width);
      for (auto& box : of.xyxy) box = {width - box[2], box[1], width - box[0], box[3]};
      return;
    }
    case kind::mirror_y: {
      const auto height = static_cast<float>(in.height);
      for (auto& box : of.xyxy) box = {box[0], height - box[3], box[2], height - box[1]};
      return;
    }
    case kind::pad:
      require_plain_border(step.around.mode, "boxes");
      boxing::shift(of, step.around.by.left, step.around.by.top);
      return boxing::cut(of, step.after(in));
    case kind::warp: {
      const projection there = step.places(in);
      for (auto& box : of.xyxy) box = boxing::around(there, box);
      return boxing::cut(of, step.after(in));
    }
    case kind::drop_boxes:
      boxing::cut(of, in);
      return boxing::keep(of, [&](std::size_t i) {
        return of.xyxy[i][2] - of.xyxy[i][0] >= step.min_size &&
               of.xyxy[i][3] - of.xyxy[i][1] >= step.min_size && of.visible[i] >= step.min_visible;
      });
  }
}

namespace detail {

sanitize_boxes_stage::sanitize_boxes_stage(const sanitize_boxes_options& options) : options_(options) {
  if (!(options.min_size >= 0 && std::isfinite(options.min_size))) {
    throw error("sanitize_boxes: min_size " + std::to_string(options.min_size) + "; give px, 0 or more");
  }
  if (!(options.min_visible >= 0 && options.min_visible <= 1)) {
    throw error("sanitize_boxes: min_visible " + std::to_string(options.min_visible) +
                "; give a share of the box, from 0 to 1");
  }
}

geometry_steps sanitize_boxes_stage::decide(frame, context&) const noexcept {
  geometry_step drop;
  drop.what = geometry_step::kind::drop_boxes;
  drop.min_size = static_cast<float>(options_.min_size);
  drop.min_visible = static_cast<float>(options_.min_visible);
  return drop;
}

std::uint64_t sanitize_boxes_stage::fingerprint() const noexcept {
  return fingerprint_hash::of(options_.min_size, options_.min_visible);
}

}  // namespace detail

detail::sanitize_boxes_stage sanitize_boxes(const sanitize_boxes_options& options) {
  return detail::sanitize_boxes_stage(options);
}

}  // namespace wick
