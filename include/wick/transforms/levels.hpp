// Stages that change levels: invert, posterize, solarize, autocontrast, and equalize, each always or with
// probability p. They record an operation that runs on the finished pixels, in the batch's slot. Alpha
// doesn't change.
#pragma once

#include <string_view>

#include <wick/transforms/detail/op_stage.hpp>

namespace wick::inline v0_1 {

namespace detail {

struct invert_name {
  static constexpr std::string_view name = "invert";
};
struct random_invert_name {
  static constexpr std::string_view name = "random_invert";
};
struct posterize_name {
  static constexpr std::string_view name = "posterize";
};
struct random_posterize_name {
  static constexpr std::string_view name = "random_posterize";
};
struct solarize_name {
  static constexpr std::string_view name = "solarize";
};
struct random_solarize_name {
  static constexpr std::string_view name = "random_solarize";
};
struct autocontrast_name {
  static constexpr std::string_view name = "autocontrast";
};
struct random_autocontrast_name {
  static constexpr std::string_view name = "random_autocontrast";
};
struct equalize_name {
  static constexpr std::string_view name = "equalize";
};
struct random_equalize_name {
  static constexpr std::string_view name = "random_equalize";
};

}  // namespace detail

/// Each level becomes 255 - level.
detail::op_stage<detail::invert_name> invert();
/// Each level becomes 255 - level, with probability p. torchvision.transforms.v2.RandomInvert.
detail::random_op_stage<detail::random_invert_name> random_invert(double p = 0.5);

/// Keeps the upper `bits` bits of each level, 0 to 8.
detail::op_stage<detail::posterize_name> posterize(int bits);
/// Keeps the upper `bits` bits of each level, 0 to 8, with probability p.
/// torchvision.transforms.v2.RandomPosterize.
detail::random_op_stage<detail::random_posterize_name> random_posterize(int bits, double p = 0.5);

/// Levels at or above `threshold` become 255 - level; `threshold` is 0 to 255.
detail::op_stage<detail::solarize_name> solarize(double threshold);
/// Levels at or above `threshold` become 255 - level, with probability p.
/// torchvision.transforms.v2.RandomSolarize.
detail::random_op_stage<detail::random_solarize_name> random_solarize(double threshold, double p = 0.5);

/// Stretches each color so that its levels range from 0 to 255.
detail::op_stage<detail::autocontrast_name> autocontrast();
/// Stretches each color so that its levels range from 0 to 255, with probability p.
/// torchvision.transforms.v2.RandomAutocontrast.
detail::random_op_stage<detail::random_autocontrast_name> random_autocontrast(double p = 0.5);

/// Spreads each color's levels so that all are about equally frequent.
detail::op_stage<detail::equalize_name> equalize();
/// Spreads each color's levels so that all are about equally frequent, with probability p.
/// torchvision.transforms.v2.RandomEqualize.
detail::random_op_stage<detail::random_equalize_name> random_equalize(double p = 0.5);

}  // namespace wick
