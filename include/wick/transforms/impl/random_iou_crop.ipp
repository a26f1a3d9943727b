// Implements transforms/random_iou_crop.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>

#include <wick/ext/fingerprint.hpp>
#include <wick/image/impl/boxes.ipp>
#include <wick/pipeline/error.hpp>
#include <wick/transforms/random_iou_crop.hpp>

namespace wick::inline v0_1::detail {

namespace boxing {

inline float overlap(const std::array<float, 4>& a, const std::array<float, 4>& b) noexcept {
  const float across = std::min(a[2], b[2]) - std::max(a[0], b[0]),
              down = std::min(a[3], b[3]) - std::max(a[1], b[1]);
  if (!(across > 0 && down > 0)) return 0;
  const float both = across * down;
  return both / (area(a) + area(b) - both);
}

}  // namespace boxing

random_iou_crop_stage::random_iou_crop_stage(const random_iou_crop_options& options) : options_(options) {
  const auto& [least, most] = options.scale;
  if (!(least > 0 && least <= most && most <= 1)) {
    throw error("random_iou_crop: scale {" + std::to_string(least) + ", " + std::to_string(most) +
                "}; give two shares of a side, the smaller first, such as {0.3, 1}");
  }
  const auto& [narrow, wide] = options.ratio;
  if (!(narrow > 0 && narrow <= wide && std::isfinite(wide))) {
    throw error("random_iou_crop: ratio {" + std::to_string(narrow) + ", " + std::to_string(wide) +
                "}; give two ratios of width to height, the smaller first, such as {0.5, 2}");
  }
  if (options.min_iou.empty())
    throw error("random_iou_crop: min_iou is empty; give shares, or {1} for no crop");
  for (const double share : options.min_iou) {
    if (!(share >= 0))
      throw error("random_iou_crop: min_iou " + std::to_string(share) + "; give shares of 0 to 1");
  }
  if (options.trials < 1)
    throw error("random_iou_crop: " + std::to_string(options.trials) + " trials; give 1 or more");
}

std::optional<rect> random_iou_crop_stage::try_one(frame size, const boxes& of, double min_iou,
                                                   random_stream& random) const {
  const auto& [least, most] = options_.scale;
  const auto width = static_cast<int>(size.width * random.uniform(least, most));
  const auto height = static_cast<int>(size.height * random.uniform(least, most));
  if (width < 1 || height < 1) return {};
  const double ratio = static_cast<double>(width) / height;
  if (ratio < options_.ratio[0] || ratio > options_.ratio[1]) return {};
  const rect part{static_cast<int>((size.width - width) * random.uniform(0, 1)),
                  static_cast<int>((size.height - height) * random.uniform(0, 1)), width, height};
  const std::array<float, 4> crop{static_cast<float>(part.x), static_cast<float>(part.y),
                                  static_cast<float>(part.x + width), static_cast<float>(part.y + height)};
  bool any = false;
  float best = 0;
  for (const auto& box : of.xyxy) {
    if (!boxing::has_middle_of(part, box)) continue;
    any = true;
    best = std::max(best, boxing::overlap(crop, box));
  }
  if (!any || best < static_cast<float>(min_iou)) return {};
  return part;
}

std::optional<rect> random_iou_crop_stage::choose(frame size, const boxes& of, random_stream& random) const {
  boxing::check(of);
  if (of.empty()) return {};
  // If nothing fits, torchvision loops forever.
  for (int draw = 0; draw < 100; ++draw) {
    const double min_iou = options_.min_iou[random.below(options_.min_iou.size())];
    if (min_iou >= 1) return {};
    for (int trial = 0; trial < options_.trials; ++trial) {
      if (const std::optional<rect> part = try_one(size, of, min_iou, random)) return part;
    }
  }
  return {};
}

std::uint64_t random_iou_crop_stage::fingerprint() const noexcept {
  std::uint64_t all = fingerprint_hash::of(options_.scale, options_.ratio, options_.trials);
  for (const double share : options_.min_iou) all = fingerprint_hash::of(all, share);
  return all;
}

}  // namespace wick::detail

namespace wick::inline v0_1 {

detail::random_iou_crop_stage random_iou_crop(const random_iou_crop_options& options) {
  return detail::random_iou_crop_stage(options);
}

}  // namespace wick
