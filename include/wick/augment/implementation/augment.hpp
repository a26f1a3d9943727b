/// \file
/// The bodies of what augment/augment.hpp declares. Included in exactly one file of a program.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <string>
#include <string_view>

#include <wick/augment/augment.hpp>
#include <wick/augment/implementation/augment_policies.hpp>
#include <wick/image/affine.hpp>
#include <wick/image/lazy_image.hpp>
#include <wick/image/pad.hpp>
#include <wick/pixels/geometry.hpp>
#include <wick/pixels/pixel_ops.hpp>
#include <wick/resample/warp.hpp>
#include <wick/sample/context.hpp>
#include <wick/sample/error.hpp>
#include <wick/sample/fingerprint.hpp>
#include <wick/sample/random.hpp>

namespace wick::detail {

/// The strongest of each kind.
struct augment_space {
  double shear, translate_x, translate_y, rotate, color;
  int bits;  ///< that posterize takes away
};

inline constexpr int augmentations = 14;  // of rand_augment: all but invert

inline augment_space narrow_space(const lazy_image& picture) noexcept {
  return {0.3, 150.0 / 331.0 * picture.width(), 150.0 / 331.0 * picture.height(), 30, 0.9, 4};
}
inline constexpr augment_space wide_space{0.99, 32, 32, 135, 0.99, 6};

/// torch.linspace(from, to, steps)[i], in float.
inline double linspace(double from, double to, int steps, int i) noexcept {
  const auto first = static_cast<float>(from), last = static_cast<float>(to);
  if (steps == 1) return first;
  const float step = (last - first) / static_cast<float>(steps - 1);
  return i < steps / 2 ? first + step * static_cast<float>(i)
                       : last - step * static_cast<float>(steps - 1 - i);
}

/// How much of an operation strength `i` of `steps` is; some go in either direction.
struct augment_magnitude {
  double value = 0;
  bool either_way = false;
};

inline augment_magnitude magnitude_of(augmentation what, const augment_space& space, int steps,
                                      int i) noexcept {
  switch (what) {
    case augmentation::shear_x:
    case augmentation::shear_y:
      return {linspace(0, space.shear, steps, i), true};
    case augmentation::translate_x:
      return {linspace(0, space.translate_x, steps, i), true};
    case augmentation::translate_y:
      return {linspace(0, space.translate_y, steps, i), true};
    case augmentation::rotate:
      return {linspace(0, space.rotate, steps, i), true};
    case augmentation::brightness:
    case augmentation::color:
    case augmentation::contrast:
    case augmentation::sharpness:
      return {linspace(0, space.color, steps, i), true};
    case augmentation::posterize: {
      const auto step = static_cast<float>(static_cast<double>(steps - 1) / space.bits);
      return {std::nearbyint(8.0f - static_cast<float>(i) / step), false};
    }
    case augmentation::solarize:
      return {linspace(1, 0, steps, i), false};
    default:
      return {};
  }
}

inline void shear(lazy_image& picture, double along_x, double along_y, interpolation filter,
                  const fill_color& fill) {
  const point corner{-picture.width() * 0.5, -picture.height() * 0.5};
  constexpr double degree = 180 / std::numbers::pi;
  const point by{std::atan(along_x) * degree, std::atan(along_y) * degree};
  picture.warp(
      {inverse_affine(corner, 0, {}, 1, by), true, filter, fill.levels, picture.width(), picture.height()});
}

inline void translate(lazy_image& picture, double x, double y, interpolation filter, const fill_color& fill) {
  picture.warp({inverse_affine({}, 0, {std::trunc(x), std::trunc(y)}, 1, {}), true, filter, fill.levels,
                picture.width(), picture.height()});
}

/// One operation, as torchvision's _apply_image_or_video_transform.
inline void augment(lazy_image& picture, augmentation what, double magnitude, interpolation filter,
                    const fill_color& fill) {
  using kind = pixel_op::kind;
  switch (what) {
    case augmentation::identity:
      return;
    case augmentation::shear_x:
      return shear(picture, magnitude, 0, filter, fill);
    case augmentation::shear_y:
      return shear(picture, 0, magnitude, filter, fill);
    case augmentation::translate_x:
      return translate(picture, magnitude, 0, filter, fill);
    case augmentation::translate_y:
      return translate(picture, 0, magnitude, filter, fill);
    case augmentation::rotate:
      for (const geometry_step& step :
           turn({picture.width(), picture.height()}, magnitude, {.interpolation = filter, .fill = fill})) {
        picture.follow(step);
      }
      return;
    case augmentation::brightness:
      return picture.apply({kind::brightness, 1 + magnitude});
    case augmentation::color:
      return picture.apply({kind::saturation, 1 + magnitude});
    case augmentation::contrast:
      return picture.apply({kind::contrast, 1 + magnitude});
    case augmentation::sharpness:
      return picture.apply({kind::sharpness, 1 + magnitude});
    case augmentation::posterize:
      return picture.apply({kind::posterize, magnitude});
    case augmentation::solarize:
      return picture.apply({kind::solarize, 255 * magnitude});
    case augmentation::autocontrast:
      return picture.apply({kind::autocontrast});
    case augmentation::equalize:
      return picture.apply({kind::equalize});
    case augmentation::invert:
      return picture.apply({kind::invert});
  }
}

inline void augment(lazy_image& picture, augmentation what, augment_magnitude by, random_stream& random,
                    interpolation filter, const fill_color& fill) {
  if (by.either_way && random.bernoulli(0.5)) by.value = -by.value;
  augment(picture, what, by.value, filter, fill);
}

inline void require_augment(std::string_view stage, int bins, interpolation filter) {
  if (bins < 2)
    throw error(std::string(stage) + ": " + std::to_string(bins) +
                " strengths; give num_magnitude_bins of 2 or more");
  if (filter != interpolation::nearest && filter != interpolation::bilinear)
    throw error(std::string(stage) + " has no such interpolation; give nearest or bilinear");
}

// ---- rand_augment

rand_augment_stage::rand_augment_stage(const rand_augment_options& options) : options_(options) {
  require_augment(name, options.num_magnitude_bins, options.interpolation);
  if (options.num_ops < 0)
    throw error("rand_augment: " + std::to_string(options.num_ops) + " operations; give 0 or more");
  if (options.magnitude < 0 || options.magnitude >= options.num_magnitude_bins) {
    throw error("rand_augment: magnitude " + std::to_string(options.magnitude) + "; give 0 to " +
                std::to_string(options.num_magnitude_bins - 1) + ", or more num_magnitude_bins");
  }
}

lazy_image rand_augment_stage::operator()(lazy_image picture, context& ctx) const {
  random_stream& random = ctx.random();
  const augment_space space = narrow_space(picture);
  for (int i = 0; i < options_.num_ops; ++i) {
    const auto what = static_cast<augmentation>(random.below(augmentations));
    augment(picture, what, magnitude_of(what, space, options_.num_magnitude_bins, options_.magnitude), random,
            options_.interpolation, options_.fill);
  }
  return picture;
}

std::uint64_t rand_augment_stage::fingerprint() const noexcept {
  return fingerprint_hash::of(options_.num_ops, options_.magnitude, options_.num_magnitude_bins,
                              options_.interpolation, options_.fill.levels);
}

// ---- trivial_augment_wide

trivial_augment_wide_stage::trivial_augment_wide_stage(const trivial_augment_wide_options& options)
    : options_(options) {
  require_augment(name, options.num_magnitude_bins, options.interpolation);
}

lazy_image trivial_augment_wide_stage::operator()(lazy_image picture, context& ctx) const {
  random_stream& random = ctx.random();
  const auto what = static_cast<augmentation>(random.below(augmentations));
  const int bins = options_.num_magnitude_bins;
  const auto strength = static_cast<int>(random.below(static_cast<std::uint64_t>(bins)));
  augment(picture, what, magnitude_of(what, wide_space, bins, strength), random, options_.interpolation,
          options_.fill);
  return picture;
}

std::uint64_t trivial_augment_wide_stage::fingerprint() const noexcept {
  return fingerprint_hash::of(options_.num_magnitude_bins, options_.interpolation, options_.fill.levels);
}

// ---- auto_augment

auto_augment_stage::auto_augment_stage(auto_augment_policy policy, const auto_augment_options& options)
    : policy_(policy), options_(options) {
  require_augment(name, 10, options.interpolation);
}

lazy_image auto_augment_stage::operator()(lazy_image picture, context& ctx) const {
  random_stream& random = ctx.random();
  const augment_policy& pairs = policy_ == auto_augment_policy::imagenet  ? policies::imagenet
                                : policy_ == auto_augment_policy::cifar10 ? policies::cifar10
                                                                          : policies::svhn;
  const augment_space space = narrow_space(picture);
  for (const augment_step& step : pairs[random.below(pairs.size())]) {
    if (!random.bernoulli(step.tenths / 10.0)) continue;
    augment(picture, step.what, magnitude_of(step.what, space, 10, step.strength), random,
            options_.interpolation, options_.fill);
  }
  return picture;
}

std::uint64_t auto_augment_stage::fingerprint() const noexcept {
  return fingerprint_hash::of(policy_, options_.interpolation, options_.fill.levels);
}

}  // namespace wick::detail

namespace wick {

detail::rand_augment_stage rand_augment(const detail::rand_augment_options& options) {
  return detail::rand_augment_stage(options);
}

detail::trivial_augment_wide_stage trivial_augment_wide(const detail::trivial_augment_wide_options& options) {
  return detail::trivial_augment_wide_stage(options);
}

detail::auto_augment_stage auto_augment(auto_augment_policy policy,
                                        const detail::auto_augment_options& options) {
  return {policy, options};
}

}  // namespace wick
