// Implements transforms/jitter.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include <wick/pipeline/error.hpp>
#include <wick/transforms/jitter.hpp>

namespace wick::inline v0_1::detail {

color_jitter_stage::color_jitter_stage(double brightness, double contrast, double saturation, double hue)
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

color_jitter_stage::drawn color_jitter_stage::draw(context& ctx) const {
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
  drawn out;
  for (const std::size_t i : order) {
    if (amount_[i] != 0) out.ops[out.count++] = {kinds[i], value[i]};
  }
  return out;
}

void color_jitter_stage::apply(lazy_image& picture, const drawn& what) const {
  for (std::size_t i = 0; i < what.count; ++i) picture.apply(what.ops[i]);
}

grayscale_stage::grayscale_stage(int channels) : channels_(channels) {
  if (channels != 1 && channels != 3) {
    throw error("grayscale: " + std::to_string(channels) + " channels; give 1, or 3 equal ones");
  }
}

void random_grayscale_stage::apply(lazy_image& picture, bool gray) const {
  if (gray) picture.apply({pixel_op::kind::gray});
}

}  // namespace wick::detail

namespace wick::inline v0_1 {

detail::color_jitter_stage color_jitter(double brightness, double contrast, double saturation, double hue) {
  return {brightness, contrast, saturation, hue};
}

detail::random_grayscale_stage random_grayscale(double p) { return detail::random_grayscale_stage(p); }

}  // namespace wick
