/// \file
/// Mirroring stages, sure and random. They turn a flag of the plan; the pixels are written mirrored in the
/// first place.
#pragma once

#include <cstdint>
#include <string_view>

#include <wick/image/detail/arguments.hpp>
#include <wick/image/lazy_image.hpp>
#include <wick/sample/context.hpp>
#include <wick/sample/fingerprint.hpp>
#include <wick/sample/stage.hpp>

namespace wick {

namespace detail {

struct horizontal_flip_stage {
  using stage_kind = on_data;
  static constexpr std::string_view name = "horizontal_flip";

  lazy_image operator()(lazy_image picture, context&) const noexcept {
    picture.mirror_x();
    return picture;
  }
};

struct vertical_flip_stage {
  using stage_kind = on_data;
  static constexpr std::string_view name = "vertical_flip";

  lazy_image operator()(lazy_image picture, context&) const noexcept {
    picture.mirror_y();
    return picture;
  }
};

class random_horizontal_flip_stage {
 public:
  using stage_kind = on_data;
  using stage_hooks = hooks<hook::fingerprint>;
  static constexpr std::string_view name = "random_horizontal_flip";

  explicit random_horizontal_flip_stage(double p) : p_(p) { detail::require_probability(name, p); }
  lazy_image operator()(lazy_image picture, context& ctx) const noexcept {
    if (ctx.random().bernoulli(p_)) picture.mirror_x();
    return picture;
  }
  std::uint64_t fingerprint() const noexcept { return fingerprint_hash::of(p_); }

 private:
  double p_;
};

class random_vertical_flip_stage {
 public:
  using stage_kind = on_data;
  using stage_hooks = hooks<hook::fingerprint>;
  static constexpr std::string_view name = "random_vertical_flip";

  explicit random_vertical_flip_stage(double p) : p_(p) { detail::require_probability(name, p); }
  lazy_image operator()(lazy_image picture, context& ctx) const noexcept {
    if (ctx.random().bernoulli(p_)) picture.mirror_y();
    return picture;
  }
  std::uint64_t fingerprint() const noexcept { return fingerprint_hash::of(p_); }

 private:
  double p_;
};

}  // namespace detail

/// Left and right change places.
inline detail::horizontal_flip_stage horizontal_flip() noexcept { return {}; }
/// Top and bottom change places.
inline detail::vertical_flip_stage vertical_flip() noexcept { return {}; }
/// Left and right change places with probability p. torchvision.transforms.RandomHorizontalFlip.
inline detail::random_horizontal_flip_stage random_horizontal_flip(double p = 0.5) {
  return detail::random_horizontal_flip_stage(p);
}
/// Top and bottom change places with probability p. torchvision.transforms.RandomVerticalFlip.
inline detail::random_vertical_flip_stage random_vertical_flip(double p = 0.5) {
  return detail::random_vertical_flip_stage(p);
}

}  // namespace wick
