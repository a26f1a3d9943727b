// Implements transforms/augment.hpp. Included in exactly one file of a program.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <string>
#include <utility>

#include <wick/ext/fingerprint.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/pipeline/random.hpp>
#include <wick/pixels/detail/warp.hpp>
#include <wick/transforms/affine.hpp>
#include <wick/transforms/augment.hpp>
#include <wick/transforms/impl/affine.ipp>
#include <wick/transforms/impl/augment_policies.ipp>

namespace wick::inline v0_1::detail {

/// The greatest strength of each kind.
struct augment_space {
  double shear, translate_x, translate_y, rotate, color;
  int bits;  ///< the bits that posterize removes
};

inline constexpr int augmentations = 14;  // in rand_augment: all but invert

inline augment_space narrow_space(frame size) noexcept {
  return {0.3, 150.0 / 331.0 * size.width, 150.0 / 331.0 * size.height, 30, 0.9, 4};
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

/// The magnitude of an operation at strength `i` of `steps`; some go either way.
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

/// The state that the draws of one sample share.
struct augmenting {
  frame size;
  random_stream& random;
  interpolation filter;
  fill_color fill;
  int mask_fill;
  std::vector<augment_op> drawn{};

  /// Adds one operation, like torchvision's _apply_image_or_video_transform.
  void add(augmentation what, augment_magnitude by) {
    if (by.either_way && random.bernoulli(0.5)) by.value = -by.value;
    const double value = by.value;
    using kind = pixel_op::kind;
    switch (what) {
      case augmentation::identity:
        return;
      case augmentation::shear_x:
        return shear(value, 0);
      case augmentation::shear_y:
        return shear(0, value);
      case augmentation::translate_x:
        return move({std::trunc(value), 0});
      case augmentation::translate_y:
        return move({0, std::trunc(value)});
      case augmentation::rotate:
        for (const geometry_step& step :
             rotation_steps(size, value, {.interpolation = filter, .fill = fill, .mask_fill = mask_fill}))
          drawn.push_back({{}, step});
        return;
      case augmentation::brightness:
        return color({kind::brightness, 1 + value});
      case augmentation::color:
        return color({kind::saturation, 1 + value});
      case augmentation::contrast:
        return color({kind::contrast, 1 + value});
      case augmentation::sharpness:
        return color({kind::sharpness, 1 + value});
      case augmentation::posterize:
        return color({kind::posterize, value});
      case augmentation::solarize:
        return color({kind::solarize, 255 * value});
      case augmentation::autocontrast:
        return color({kind::autocontrast});
      case augmentation::equalize:
        return color({kind::equalize});
      case augmentation::invert:
        return color({kind::invert});
    }
  }

 private:
  void color(const pixel_op& op) { drawn.push_back({op, {}}); }
  void move(const point& translate, const point& shear = {}, const center_point& center = {}) {
    drawn.push_back({{}, detail::move(size, 0, translate, 1, shear, filter, fill, mask_fill, center)});
  }
  void shear(double along_x, double along_y) {
    constexpr double degree = 180 / std::numbers::pi;
    const std::array<double, 2> corner{};
    move({}, {std::atan(along_x) * degree, std::atan(along_y) * degree}, corner);
  }
};

inline void require_augment(std::string_view stage, int bins, interpolation filter) {
  if (bins < 2)
    throw error(std::string(stage) + ": " + std::to_string(bins) +
                " strengths; give num_magnitude_bins of 2 or more");
  detail::require_warp(stage, filter);
}

// ---- rand_augment

rand_augment_stage::rand_augment_stage(const rand_augment_options& options) : options_(options) {
  require_augment(traits.name, options.num_magnitude_bins, options.interpolation);
  if (options.num_ops < 0)
    throw error("rand_augment: " + std::to_string(options.num_ops) + " operations; give 0 or more");
  if (options.magnitude < 0 || options.magnitude >= options.num_magnitude_bins) {
    throw error("rand_augment: magnitude " + std::to_string(options.magnitude) + "; give 0 to " +
                std::to_string(options.num_magnitude_bins - 1) + ", or more num_magnitude_bins");
  }
}

std::vector<augment_op> rand_augment_stage::draw(frame size, context& ctx) const {
  const rand_augment_options& o = options_;
  augmenting all{size, ctx.random(), o.interpolation, o.fill, o.mask_fill};
  const augment_space space = narrow_space(size);
  for (int i = 0; i < o.num_ops; ++i) {
    const auto what = static_cast<augmentation>(all.random.below(augmentations));
    all.add(what, magnitude_of(what, space, o.num_magnitude_bins, o.magnitude));
  }
  return std::move(all.drawn);
}

std::uint64_t rand_augment_stage::fingerprint() const noexcept {
  return fingerprint_hash::of(options_.num_ops, options_.magnitude, options_.num_magnitude_bins,
                              options_.interpolation, options_.fill.levels, options_.mask_fill);
}

// ---- trivial_augment_wide

trivial_augment_wide_stage::trivial_augment_wide_stage(const trivial_augment_wide_options& options)
    : options_(options) {
  require_augment(traits.name, options.num_magnitude_bins, options.interpolation);
}

std::vector<augment_op> trivial_augment_wide_stage::draw(frame size, context& ctx) const {
  const trivial_augment_wide_options& o = options_;
  augmenting all{size, ctx.random(), o.interpolation, o.fill, o.mask_fill};
  const auto what = static_cast<augmentation>(all.random.below(augmentations));
  const int bins = o.num_magnitude_bins;
  const auto strength = static_cast<int>(all.random.below(static_cast<std::uint64_t>(bins)));
  all.add(what, magnitude_of(what, wide_space, bins, strength));
  return std::move(all.drawn);
}

std::uint64_t trivial_augment_wide_stage::fingerprint() const noexcept {
  return fingerprint_hash::of(options_.num_magnitude_bins, options_.interpolation, options_.fill.levels,
                              options_.mask_fill);
}

// ---- auto_augment

auto_augment_stage::auto_augment_stage(auto_augment_policy policy, const auto_augment_options& options)
    : policy_(policy), options_(options) {
  require_augment(traits.name, 10, options.interpolation);
}

std::vector<augment_op> auto_augment_stage::draw(frame size, context& ctx) const {
  const auto_augment_options& o = options_;
  augmenting all{size, ctx.random(), o.interpolation, o.fill, o.mask_fill};
  const augment_policy& pairs = policy_ == auto_augment_policy::imagenet  ? policies::imagenet
                                : policy_ == auto_augment_policy::cifar10 ? policies::cifar10
                                                                          : policies::svhn;
  const augment_space space = narrow_space(size);
  for (const augment_step& step : pairs[all.random.below(pairs.size())]) {
    if (all.random.bernoulli(step.tenths / 10.0))
      all.add(step.what, magnitude_of(step.what, space, 10, step.strength));
  }
  return std::move(all.drawn);
}

std::uint64_t auto_augment_stage::fingerprint() const noexcept {
  return fingerprint_hash::of(policy_, options_.interpolation, options_.fill.levels, options_.mask_fill);
}

}  // namespace wick::detail

namespace wick::inline v0_1 {

detail::rand_augment_stage rand_augment(const rand_augment_options& options) {
  return detail::rand_augment_stage(options);
}

detail::trivial_augment_wide_stage trivial_augment_wide(const trivial_augment_wide_options& options) {
  return detail::trivial_augment_wide_stage(options);
}

detail::auto_augment_stage auto_augment(auto_augment_policy policy, const auto_augment_options& options) {
  return {policy, options};
}

}  // namespace wick
