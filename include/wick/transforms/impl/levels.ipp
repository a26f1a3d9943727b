// Implements transforms/levels.hpp. Included in exactly one file of a program.
#pragma once

#include <string>

#include <wick/pipeline/error.hpp>
#include <wick/pixels/detail/pixel_ops.hpp>
#include <wick/transforms/levels.hpp>

namespace wick::inline v0_1 {

namespace detail {

inline pixel_op posterize_op(std::string_view stage, int bits) {
  if (bits < 0 || bits > 8)
    throw error(std::string(stage) + ": " + std::to_string(bits) + " bits; a level has 8, give 0 to 8");
  return {pixel_op::kind::posterize, static_cast<double>(bits)};
}

inline pixel_op solarize_op(std::string_view stage, double threshold) {
  if (!(threshold >= 0 && threshold <= 255)) {
    throw error(std::string(stage) + ": threshold " + std::to_string(threshold) +
                "; levels reach from 0 to 255, give one of them");
  }
  return {pixel_op::kind::solarize, threshold};
}

}  // namespace detail

detail::op_stage<detail::invert_name> invert() {
  return detail::op_stage<detail::invert_name>({detail::pixel_op::kind::invert});
}
detail::random_op_stage<detail::random_invert_name> random_invert(double p) {
  return {{detail::pixel_op::kind::invert}, p};
}

detail::op_stage<detail::autocontrast_name> autocontrast() {
  return detail::op_stage<detail::autocontrast_name>({detail::pixel_op::kind::autocontrast});
}
detail::random_op_stage<detail::random_autocontrast_name> random_autocontrast(double p) {
  return {{detail::pixel_op::kind::autocontrast}, p};
}

detail::op_stage<detail::equalize_name> equalize() {
  return detail::op_stage<detail::equalize_name>({detail::pixel_op::kind::equalize});
}
detail::random_op_stage<detail::random_equalize_name> random_equalize(double p) {
  return {{detail::pixel_op::kind::equalize}, p};
}

detail::op_stage<detail::posterize_name> posterize(int bits) {
  return detail::op_stage<detail::posterize_name>(detail::posterize_op("posterize", bits));
}
detail::random_op_stage<detail::random_posterize_name> random_posterize(int bits, double p) {
  return {detail::posterize_op("random_posterize", bits), p};
}

detail::op_stage<detail::solarize_name> solarize(double threshold) {
  return detail::op_stage<detail::solarize_name>(detail::solarize_op("solarize", threshold));
}
detail::random_op_stage<detail::random_solarize_name> random_solarize(double threshold, double p) {
  return {detail::solarize_op("random_solarize", threshold), p};
}

}  // namespace wick
