// Implements transforms/distort.hpp. Included in exactly one file of a program.
#pragma once

#include <cmath>
#include <string>
#include <utility>

#include <wick/ext/fingerprint.hpp>
#include <wick/image/detail/arguments.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/pipeline/random.hpp>
#include <wick/transforms/distort.hpp>

namespace wick::inline v0_1::detail {

inline void require_range(std::string_view what, const std::array<double, 2>& range, double least,
                          double most) {
  if (range[0] >= least && range[0] <= range[1] && range[1] <= most && std::isfinite(range[1])) return;
  throw error("random_photometric_distort: " + std::string(what) + " " + std::to_string(range[0]) + " to " +
              std::to_string(range[1]) +
              (least < 0 ? "; give parts of the color circle, -0.5 to 0.5, the least one first"
                         : "; give factors of 0 or more, the least one first"));
}

random_photometric_distort_stage::random_photometric_distort_stage(
    const random_photometric_distort_options& options)
    : options_(options) {
  require_range("brightness", options.brightness, 0, HUGE_VAL);
  require_range("contrast", options.contrast, 0, HUGE_VAL);
  require_range("saturation", options.saturation, 0, HUGE_VAL);
  require_range("hue", options.hue, -0.5, 0.5);
  detail::require_probability(traits.name, options.p);
}

inline pixel_op permuted_colors(random_stream& random) noexcept {
  pixel_op op{pixel_op::kind::permute, 0, {0, 1, 2, 3}};
  for (std::size_t i = 2; i > 0; --i) std::swap(op.levels[i], op.levels[random.below(i + 1)]);
  return op;
}

random_photometric_distort_stage::drawn random_photometric_distort_stage::draw(context& ctx) const noexcept {
  using kind = pixel_op::kind;
  random_stream& random = ctx.random();
  const auto maybe = [&](kind what, const std::array<double, 2>& range) {
    const bool chosen = random.bernoulli(options_.p);
    const double value = random.uniform(range[0], range[1]);
    return std::pair{chosen, pixel_op{what, value}};
  };
  const auto brightness = maybe(kind::brightness, options_.brightness),
             contrast = maybe(kind::contrast, options_.contrast),
             saturation = maybe(kind::saturation, options_.saturation), hue = maybe(kind::hue, options_.hue);
  const bool contrast_first = random.bernoulli(0.5);
  drawn out;
  const auto note = [&out](const pixel_op& op) { out.ops[out.count++] = op; };
  if (brightness.first) note(brightness.second);
  if (contrast.first && contrast_first) note(contrast.second);
  if (saturation.first) note(saturation.second);
  if (hue.first) note(hue.second);
  if (contrast.first && !contrast_first) note(contrast.second);
  if (random.bernoulli(options_.p)) note(permuted_colors(random));
  return out;
}

void random_photometric_distort_stage::apply(lazy_image& picture, const drawn& what) const {
  for (std::size_t i = 0; i < what.count; ++i) picture.apply(what.ops[i]);
}

std::uint64_t random_photometric_distort_stage::fingerprint() const noexcept {
  return fingerprint_hash::of(options_.brightness, options_.contrast, options_.saturation, options_.hue,
                              options_.p);
}

pixel_op random_channel_permutation_stage::draw(context& ctx) const noexcept {
  return permuted_colors(ctx.random());
}

}  // namespace wick::detail

namespace wick::inline v0_1 {

detail::random_photometric_distort_stage random_photometric_distort(
    const random_photometric_distort_options& options) {
  return detail::random_photometric_distort_stage(options);
}

detail::random_channel_permutation_stage random_channel_permutation() { return {}; }

}  // namespace wick
