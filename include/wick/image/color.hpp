/// \file
/// Color stages: color_jitter, grayscale, random_grayscale. They note operations that run on the finished
/// pixels, in the batch's slot.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <wick/image/detail/arguments.hpp>
#include <wick/image/lazy_image.hpp>
#include <wick/pixels/pixel_ops.hpp>
#include <wick/sample/context.hpp>
#include <wick/sample/error.hpp>
#include <wick/sample/fingerprint.hpp>
#include <wick/sample/stage.hpp>

namespace wick {

namespace detail {

class color_jitter_stage {
 public:
  using stage_kind = on_data;
  using stage_hooks = hooks<hook::fingerprint>;
  static constexpr std::string_view name = "color_jitter";

  color_jitter_stage(double brightness, double contrast, double saturation, double hue)
      : amount_{brightness, contrast, saturation, hue} {
    constexpr std::string_view names[] = {"brightness", "contrast", "saturation"};
    for (std::size_t i = 0; i < 3; ++i) {
      if (!(amount_[i] >= 0 && std::isfinite(amount_[i]))) {
        throw error("color_jitter: " + std::string(names[i]) + " " + std::to_string(amount_[i]) +
                    "; give 0 or more");
      }
    }
    if (!(hue >= 0 && hue <= 0.5)) {
      throw error("color_jitter: hue " + std::to_string(hue) + "; give a part of the color circle, 0 to 0.5");
    }
  }
  lazy_image operator()(lazy_image picture, context& ctx) const {
    random_stream& random = ctx.random();
    std::array<std::size_t, 4> order{0, 1, 2, 3};
    for (std::size_t i = 3; i > 0; --i) std::swap(order[i], order[random.below(i + 1)]);
    std::array<float, 4> value{};
    for (std::size_t i = 0; i < 4; ++i) {
      const double low = i == 3 ? -amount_[i] : std::max(0.0, 1 - amount_[i]);
      const double high = i == 3 ? amount_[i] : 1 + amount_[i];
      value[i] = static_cast<float>(random.uniform(low, high));
    }
    constexpr pixel_op::kind kinds[] = {pixel_op::kind::brightness, pixel_op::kind::contrast,
                                        pixel_op::kind::saturation, pixel_op::kind::hue};
    for (const std::size_t i : order) {
      if (amount_[i] != 0) picture.apply({kinds[i], value[i]});
    }
    return picture;
  }
  std::uint64_t fingerprint() const noexcept { return fingerprint_hash::of(amount_); }

 private:
  std::array<double, 4> amount_;
};

}  // namespace detail

/// Changes brightness, contrast and saturation by factors uniform in [max(0, 1 - x), 1 + x], and turns the
/// hue by a part of the circle uniform in [-x, x], in random order. torchvision.transforms.ColorJitter, its
/// uint8 tensor formulas.
inline detail::color_jitter_stage color_jitter(double brightness = 0, double contrast = 0,
                                               double saturation = 0, double hue = 0) {
  return {brightness, contrast, saturation, hue};
}

namespace detail {

class grayscale_stage {
 public:
  using stage_kind = on_data;
  using stage_hooks = hooks<hook::fingerprint>;
  static constexpr std::string_view name = "grayscale";

  explicit grayscale_stage(int channels) : channels_(channels) {
    if (channels != 1 && channels != 3) {
      throw error("grayscale: " + std::to_string(channels) + " channels; give 1, or 3 equal ones");
    }
  }
  lazy_image operator()(lazy_image picture, context&) const {
    picture.make_gray(channels_);
    return picture;
  }
  std::uint64_t fingerprint() const noexcept { return fingerprint_hash::of(channels_); }

 private:
  int channels_;
};

}  // namespace detail

/// Gray, as one channel or as three equal ones. torchvision.transforms.Grayscale.
inline detail::grayscale_stage grayscale(int channels = 1) { return detail::grayscale_stage(channels); }

namespace detail {

class random_grayscale_stage {
 public:
  using stage_kind = on_data;
  using stage_hooks = hooks<hook::fingerprint>;
  static constexpr std::string_view name = "random_grayscale";

  explicit random_grayscale_stage(double p) : p_(p) { detail::require_probability(name, p); }
  lazy_image operator()(lazy_image picture, context& ctx) const {
    if (ctx.random().bernoulli(p_)) picture.apply({pixel_op::kind::gray});
    return picture;
  }
  std::uint64_t fingerprint() const noexcept { return fingerprint_hash::of(p_); }

 private:
  double p_;
};

}  // namespace detail

/// Gray with probability p; the number of channels stays. torchvision.transforms.RandomGrayscale.
inline detail::random_grayscale_stage random_grayscale(double p = 0.1) {
  return detail::random_grayscale_stage(p);
}

}  // namespace wick
