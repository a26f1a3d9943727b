// Mirroring stages, fixed or random. They flip a flag of the plan; the pixels are written mirrored from the
// start.
#pragma once

#include <cstdint>
#include <string_view>

#include <wick/ext/fingerprint.hpp>
#include <wick/ext/stage.hpp>
#include <wick/image/detail/arguments.hpp>
#include <wick/image/detail/parts.hpp>
#include <wick/image/detail/steps.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/pipeline/detail/phases.hpp>

namespace wick::inline v0_1 {

namespace detail {

struct horizontal_flip_stage : geometry_stage<horizontal_flip_stage> {
  static constexpr stage_traits traits{.name = "horizontal_flip"};

  geometry_steps decide(frame, context&) const noexcept { return geometry_step::mirror_x(); }
};

struct vertical_flip_stage : geometry_stage<vertical_flip_stage> {
  static constexpr stage_traits traits{.name = "vertical_flip"};

  geometry_steps decide(frame, context&) const noexcept { return geometry_step::mirror_y(); }
};

class random_horizontal_flip_stage : public geometry_stage<random_horizontal_flip_stage> {
 public:
  static constexpr stage_traits traits{.name = "random_horizontal_flip", .has_fingerprint = true};

  explicit random_horizontal_flip_stage(double p) : p_(p) { detail::require_probability(traits.name, p); }
  geometry_steps decide(frame, context& ctx) const noexcept {
    if (ctx.random().bernoulli(p_)) return geometry_step::mirror_x();
    return {};
  }
  std::uint64_t fingerprint() const noexcept { return fingerprint_hash::of(p_); }

 private:
  double p_;
};

class random_vertical_flip_stage : public geometry_stage<random_vertical_flip_stage> {
 public:
  static constexpr stage_traits traits{.name = "random_vertical_flip", .has_fingerprint = true};

  explicit random_vertical_flip_stage(double p) : p_(p) { detail::require_probability(traits.name, p); }
  geometry_steps decide(frame, context& ctx) const noexcept {
    if (ctx.random().bernoulli(p_)) return geometry_step::mirror_y();
    return {};
  }
  std::uint64_t fingerprint() const noexcept { return fingerprint_hash::of(p_); }

 private:
  double p_;
};

}  // namespace detail

/// Swaps left and right.
inline detail::horizontal_flip_stage horizontal_flip() noexcept { return {}; }
/// Swaps top and bottom.
inline detail::vertical_flip_stage vertical_flip() noexcept { return {}; }
/// Swaps left and right with probability p. torchvision.transforms.RandomHorizontalFlip.
inline detail::random_horizontal_flip_stage random_horizontal_flip(double p = 0.5) {
  return detail::random_horizontal_flip_stage(p);
}
/// Swaps top and bottom with probability p. torchvision.transforms.RandomVerticalFlip.
inline detail::random_vertical_flip_stage random_vertical_flip(double p = 0.5) {
  return detail::random_vertical_flip_stage(p);
}

}  // namespace wick
