// Implements transforms/adjust.hpp. Included in exactly one file of a program.
#pragma once

#include <cmath>
#include <string>

#include <wick/pipeline/error.hpp>
#include <wick/pixels/detail/pixel_ops.hpp>
#include <wick/transforms/adjust.hpp>

namespace wick::inline v0_1 {

namespace detail {

inline pixel_op adjust_op(std::string_view stage, pixel_op::kind what, double factor) {
  if (!(factor >= 0 && std::isfinite(factor)))
    throw error(std::string(stage) + ": factor " + std::to_string(factor) +
                "; give 0 or more, 1 changes nothing");
  return {what, factor};
}

}  // namespace detail

detail::op_stage<detail::adjust_brightness_name> adjust_brightness(double factor) {
  return detail::op_stage<detail::adjust_brightness_name>(
      detail::adjust_op("adjust_brightness", detail::pixel_op::kind::brightness, factor));
}
detail::op_stage<detail::adjust_contrast_name> adjust_contrast(double factor) {
  return detail::op_stage<detail::adjust_contrast_name>(
      detail::adjust_op("adjust_contrast", detail::pixel_op::kind::contrast, factor));
}
detail::op_stage<detail::adjust_saturation_name> adjust_saturation(double factor) {
  return detail::op_stage<detail::adjust_saturation_name>(
      detail::adjust_op("adjust_saturation", detail::pixel_op::kind::saturation, factor));
}
detail::op_stage<detail::adjust_sharpness_name> adjust_sharpness(double factor) {
  return detail::op_stage<detail::adjust_sharpness_name>(
      detail::adjust_op("adjust_sharpness", detail::pixel_op::kind::sharpness, factor));
}
detail::op_stage<detail::adjust_hue_name> adjust_hue(double turn) {
  if (!(turn >= -0.5 && turn <= 0.5)) {
    throw error("adjust_hue: " + std::to_string(turn) + "; give a part of the color circle, -0.5 to 0.5");
  }
  return detail::op_stage<detail::adjust_hue_name>({detail::pixel_op::kind::hue, turn});
}
detail::random_op_stage<detail::random_adjust_sharpness_name> random_adjust_sharpness(double factor,
                                                                                      double p) {
  return {detail::adjust_op("random_adjust_sharpness", detail::pixel_op::kind::sharpness, factor), p};
}

}  // namespace wick
