// Implements transforms/erasing.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

#include <wick/ext/fingerprint.hpp>
#include <wick/image/detail/arguments.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/pipeline/shape.hpp>
#include <wick/pixels/detail/pixel_ops.hpp>
#include <wick/transforms/erasing.hpp>

namespace wick::inline v0_1::detail {

random_erasing_stage::random_erasing_stage(const random_erasing_options& options) : options_(options) {
  detail::require_probability(traits.name, options.p);
  const auto& [least, most] = options.scale;
  if (!(least >= 0 && least <= most && most <= 1)) {
    throw error("random_erasing: scale " + std::to_string(least) + " to " + std::to_string(most) +
                "; give shares of the area, 0 to 1, the least one first");
  }
  const auto& [narrow, high] = options.ratio;
  if (!(narrow > 0 && narrow <= high && std::isfinite(high))) {
    throw error("random_erasing: ratio " + std::to_string(narrow) + " to " + std::to_string(high) +
                "; give height / width above 0, the least one first");
  }
  for (int i = 0; i < options.value.count; ++i) {
    const float value = options.value.values[static_cast<std::size_t>(i)];
    if (!std::isfinite(value))
      throw error("random_erasing: value " + std::to_string(value) + "; give finite ones");
  }
}

rect random_erasing_stage::box(random_stream& random, int width, int height) const {
  const double area = static_cast<double>(width) * height;
  for (int i = 0; i < 10; ++i) {
    const double erased = area * random.uniform(options_.scale[0], options_.scale[1]);
    const double ratio = std::exp(random.uniform(std::log(options_.ratio[0]), std::log(options_.ratio[1])));
    const double exact_height = std::nearbyint(std::sqrt(erased * ratio)),
                 exact_width = std::nearbyint(std::sqrt(erased / ratio));
    if (!(exact_height < height && exact_width < width)) continue;
    const int w = static_cast<int>(exact_width), h = static_cast<int>(exact_height);
    const int rows = height - h + 1, columns = width - w + 1;
    const auto y = static_cast<int>(random.below(static_cast<std::uint64_t>(rows)));
    const auto x = static_cast<int>(random.below(static_cast<std::uint64_t>(columns)));
    return {x, y, w, h};
  }
  return {};
}

random_erasing_stage::drawn random_erasing_stage::draw(context& ctx) const noexcept {
  random_stream& random = ctx.random();
  const bool chosen = random.bernoulli(options_.p);
  const drawn out{chosen, random};
  random.skip_blocks(32);  // more than box() and apply() draw, so that the next stage's draws differ
  return out;
}

void random_erasing_stage::apply(lazy_image& picture, drawn what) const {
  const int given = options_.value.count;
  if (given != 1 && given != picture.channels()) {
    throw error("random_erasing has " + std::to_string(given) + " values, the picture has " +
                std::to_string(picture.channels()) + " channels; give one for each channel, or one for all");
  }
  if (!what.chosen) return;
  const rect part = box(what.random, picture.width(), picture.height());
  if (part.width == 0 || part.height == 0) return;
  std::array<float, 4> values = options_.value.values;
  if (given == 1) values.fill(values[0]);
  if (picture.type() == dtype::float32) {
    const std::uint64_t high = what.random();
    picture.erase({part, values, options_.noise, (high << 32) | what.random()});
    return;
  }
  if (options_.noise) {
    throw error(
        "random_erasing: noise has mean 0, which 8 bits do not hold; write normalize or to_float before it");
  }
  pixel_op op{pixel_op::kind::erase, 0, {}, part};
  for (std::size_t c = 0; c < values.size(); ++c) {
    if (!(values[c] >= 0 && values[c] <= 255)) {
      throw error("random_erasing: value " + std::to_string(values[c]) +
                  " isn't an 8-bit level, 0 to 255; give one, or write normalize or to_float before it");
    }
    op.levels[c] = static_cast<std::uint8_t>(values[c]);
  }
  picture.apply(op);
}

std::uint64_t random_erasing_stage::fingerprint() const noexcept {
  return fingerprint_hash::of(options_.p, options_.scale, options_.ratio, options_.value.values,
                              options_.value.count, options_.noise);
}

}  // namespace wick::detail

namespace wick::inline v0_1 {

detail::random_erasing_stage random_erasing(const random_erasing_options& options) {
  return detail::random_erasing_stage(options);
}

}  // namespace wick
