// Stages that change brightness, contrast, saturation, hue, and sharpness by a given amount; color_jitter
// draws it at random. They record an operation that runs on the finished pixels, in the batch's slot.
#pragma once

#include <string_view>

#include <wick/transforms/detail/op_stage.hpp>

namespace wick::inline v0_1 {

namespace detail {

struct adjust_brightness_name {
  static constexpr std::string_view name = "adjust_brightness";
};
struct adjust_contrast_name {
  static constexpr std::string_view name = "adjust_contrast";
};
struct adjust_saturation_name {
  static constexpr std::string_view name = "adjust_saturation";
};
struct adjust_hue_name {
  static constexpr std::string_view name = "adjust_hue";
};
struct adjust_sharpness_name {
  static constexpr std::string_view name = "adjust_sharpness";
};
struct random_adjust_sharpness_name {
  static constexpr std::string_view name = "random_adjust_sharpness";
};

}  // namespace detail

/// Multiplies levels by `factor`, 0 or more: 0 gives black, 1 changes nothing.
/// torchvision.transforms.v2.functional.adjust_brightness.
detail::op_stage<detail::adjust_brightness_name> adjust_brightness(double factor);
/// Multiplies the difference from the gray image's mean by `factor`, 0 or more: 0 gives that gray, 1
/// changes nothing.
/// torchvision.transforms.v2.functional.adjust_contrast.
detail::op_stage<detail::adjust_contrast_name> adjust_contrast(double factor);
/// Multiplies the difference from the gray image by `factor`, 0 or more: 0 gives gray, 1 changes nothing.
/// torchvision.transforms.v2.functional.adjust_saturation.
detail::op_stage<detail::adjust_saturation_name> adjust_saturation(double factor);
/// Rotates the hue by a fraction of the color circle, -0.5 to 0.5; 0 changes nothing.
/// torchvision.transforms.v2.functional.adjust_hue.
detail::op_stage<detail::adjust_hue_name> adjust_hue(double turn);
/// Multiplies the difference from the image smoothed over 3 x 3 px by `factor`, 0 or more: 0 gives the
/// smoothed image, 1 changes nothing. The outermost pixels don't change.
/// torchvision.transforms.v2.functional.adjust_sharpness.
detail::op_stage<detail::adjust_sharpness_name> adjust_sharpness(double factor);
/// Multiplies the difference from the image smoothed over 3 x 3 px by `factor`, with probability p.
/// torchvision.transforms.v2.RandomAdjustSharpness.
detail::random_op_stage<detail::random_adjust_sharpness_name> random_adjust_sharpness(double factor,
                                                                                      double p = 0.5);

}  // namespace wick
