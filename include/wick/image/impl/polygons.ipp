// Implements image/polygons.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include <wick/image/impl/boxes.ipp>
#include <wick/image/polygons.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/pixels/detail/warp.hpp>
#include <wick/pixels/geometry.hpp>

namespace wick::inline v0_1 {

namespace detail::outlining {

using outline = std::vector<std::array<float, 2>>;

inline void check(const polygons& of) {
  for (const auto& [what, found] :
       {std::pair{" labels", of.labels.size()}, std::pair{" ids", of.ids.size()}}) {
    if (found == 0 || found == of.size()) continue;
    throw error("polygons: " + std::to_string(found) + what + " of " + std::to_string(of.size()) +
                " outlines; give as many, or none");
  }
  for (std::size_t i = 0; i < of.size(); ++i) {
    for (const auto& [x, y] : of.outlines[i]) {
      if (!std::isfinite(x) || !std::isfinite(y))
        throw error("polygons: outline " + std::to_string(i) + " has a corner that isn't a number; give px");
    }
  }
}

/// The part of the outline where `axis` is at least `bound` (with `most`: at most).
inline outline half(const outline& of, std::size_t axis, float bound, bool most) {
  outline out;
  const auto inside = [&](const std::array<float, 2>& p) {
    return most ? p[axis] <= bound : p[axis] >= bound;
  };
  for (std::size_t i = 0; i < of.size(); ++i) {
    const auto &a = of[i], &b = of[(i + 1) % of.size()];
    if (inside(a)) out.push_back(a);
    if (inside(a) == inside(b)) continue;
    const float share = (bound - a[axis]) / (b[axis] - a[axis]);
    std::array<float, 2> crossing{a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share};
    crossing[axis] = bound;
    out.push_back(crossing);
  }
  return out;
}

/// Twice the area, signed.
inline double area(const outline& of) noexcept {
  double sum = 0;
  for (std::size_t i = 0; i < of.size(); ++i) {
    const auto &a = of[i], &b = of[(i + 1) % of.size()];
    sum += static_cast<double>(a[0]) * b[1] - static_cast<double>(b[0]) * a[1];
  }
  return sum;
}

/// Keeps only some outlines, with their labels, ids, and so on.
template <class Keep>
void keep(polygons& of, Keep stays) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < of.size(); ++i) {
    if (!stays(i)) continue;
    if (n != i) of.outlines[n] = std::move(of.outlines[i]);
    if (!of.labels.empty()) of.labels[n] = of.labels[i];
    if (!of.ids.empty()) of.ids[n] = of.ids[i];
    ++n;
  }
  of.outlines.resize(n);
  if (!of.labels.empty()) of.labels.resize(n);
  if (!of.ids.empty()) of.ids.resize(n);
}

inline void cut(polygons& of, frame size) {
  keep(of, [&](std::size_t i) {
    outline& left = of.outlines[i];
    left = half(left, 0, 0, false);
    left = half(left, 0, static_cast<float>(size.width), true);
    left = half(left, 1, 0, false);
    left = half(left, 1, static_cast<float>(size.height), true);
    return left.size() >= 3 && area(left) != 0;
  });
}

/// Decides as for boxes: one around all outlines of an id or, without ids, one around each outline.
inline void keep_by_middle(polygons& of, const rect& part) {
  const auto whose = [&of](std::size_t i) {
    return of.ids.empty() ? static_cast<std::int64_t>(i) : of.ids[i];
  };
  std::map<std::int64_t, std::array<float, 4>> around;
  for (std::size_t i = 0; i < of.size(); ++i) {
    constexpr std::array nothing{HUGE_VALF, HUGE_VALF, -HUGE_VALF, -HUGE_VALF};
    std::array<float, 4>& box = around.try_emplace(whose(i), nothing).first->second;
    for (const auto& [x, y] : of.outlines[i])
      box = {std::min(box[0], x), std::min(box[1], y), std::max(box[2], x), std::max(box[3], y)};
  }
  keep(of, [&](std::size_t i) { return boxing::has_middle_of(part, around.at(whose(i))); });
}

}  // namespace detail::outlining

void detail::follow(polygons& of, const geometry_step& step, frame in) {
  using kind = geometry_step::kind;
  outlining::check(of);
  const frame out = step.after(in);
  // x * across + right, y * down + below
  float across = 1, right = 0, down = 1, below = 0;
  switch (step.what) {
    case kind::crop:
      if (step.by_middle) outlining::keep_by_middle(of, step.part);
      right = static_cast<float>(-step.part.x), below = static_cast<float>(-step.part.y);
      break;
    case kind::resize:
      across = static_cast<float>(static_cast<double>(out.width) / in.width);
      down = static_cast<float>(static_cast<double>(out.height) / in.height);
      break;
    case kind::mirror_x:
      across = -1, right = static_cast<float>(in.width);
      break;
    case kind::mirror_y:
      down = -1, below = static_cast<float>(in.height);
      break;
    case kind::pad:
      require_plain_border(step.around.mode, "polygons");
      right = static_cast<float>(step.around.by.left), below = static_cast<float>(step.around.by.top);
      break;
    case kind::warp: {
      const projection there = step.places(in);
      for (auto& outline : of.outlines) {
        for (auto& [x, y] : outline) {
          const point at = there({x, y});
          x = static_cast<float>(at.x), y = static_cast<float>(at.y);
        }
      }
      return outlining::cut(of, out);
    }
    case kind::drop_boxes:
      return;
  }
  for (auto& outline : of.outlines) {
    for (auto& [x, y] : outline) x = x * across + right, y = y * down + below;
  }
  if (step.what == kind::crop || step.what == kind::pad) outlining::cut(of, out);
}

}  // namespace wick
