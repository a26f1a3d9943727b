// Implements transforms/crop.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include <wick/image/detail/arguments.hpp>
#include <wick/image/detail/padding.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/transforms/crop.hpp>

namespace wick::inline v0_1::detail {

center_crop_stage::center_crop_stage(int height, int width) : height_(height), width_(width) {
  detail::require_size(traits.name, height, width);
}

geometry_steps center_crop_stage::decide(frame size, context&) const noexcept {
  return geometry_step::crop({half(size.width - width_), half(size.height - height_), width_, height_});
}

random_crop_stage::random_crop_stage(int height, int width, const random_crop_options& options)
    : height_(height), width_(width), options_(options) {
  detail::require_size(traits.name, height, width);
  detail::require_edges(traits.name, options.padding);
}

geometry_steps random_crop_stage::decide(frame size, context& ctx) const noexcept {
  const edges& p = options_.padding;
  border around{p, options_.fill, options_.padding_mode, options_.mask_fill};
  if (options_.pad_if_needed) {
    const int across = width_ - (size.width + p.left + p.right);
    const int down = height_ - (size.height + p.top + p.bottom);
    if (across > 0) around.by.left += across, around.by.right += across;
    if (down > 0) around.by.top += down, around.by.bottom += down;
  }
  const geometry_step padding = geometry_step::pad(around);
  const frame padded = padding.after(size);
  rect part{0, 0, width_, height_};
  if (padded.height > height_) part.y = below(ctx, padded.height - height_ + 1);
  if (padded.width > width_) part.x = below(ctx, padded.width - width_ + 1);
  if (around.by.empty()) return geometry_step::crop(part);
  return {padding, geometry_step::crop(part)};
}

std::uint64_t random_crop_stage::fingerprint() const noexcept {
  const auto& [padding, pad_if_needed, fill, mode, mask_fill] = options_;
  const std::uint64_t all =
      fingerprint_hash::of(height_, width_, padding.each(), pad_if_needed, fill.levels, mode);
  return mask_fill == 0 ? all : fingerprint_hash::of(all, mask_fill);
}

int random_crop_stage::below(context& ctx, int bound) noexcept {
  return static_cast<int>(ctx.random().below(static_cast<std::uint64_t>(bound)));
}

random_resized_crop_stage::random_resized_crop_stage(int height, int width,
                                                     const random_resized_crop_options& options)
    : height_(height), width_(width), options_(options) {
  detail::require_size(traits.name, height, width);
  const auto& [least, greatest] = options.scale;
  if (!(least > 0 && least <= greatest && std::isfinite(greatest))) {
    throw error("random_resized_crop: scale {" + std::to_string(least) + ", " + std::to_string(greatest) +
                "}; give two shares of the area, the smaller first, such as {0.08, 1}");
  }
  const auto& [narrow, wide] = options.ratio;
  if (!(narrow > 0 && narrow <= wide && std::isfinite(wide))) {
    throw error("random_resized_crop: ratio {" + std::to_string(narrow) + ", " + std::to_string(wide) +
                "}; give two ratios of width to height, the smaller first, such as {3. / 4, 4. / 3}");
  }
}

geometry_steps random_resized_crop_stage::decide(frame size, context& ctx) const noexcept {
  return {geometry_step::crop(choose(size.width, size.height, ctx.random())),
          geometry_step::resize(width_, height_, options_.interpolation)};
}

rect random_resized_crop_stage::choose(int width, int height, random_stream& random) const noexcept {
  const double area = static_cast<double>(width) * height;
  const double low = std::log(options_.ratio[0]), high = std::log(options_.ratio[1]);
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double wanted = area * random.uniform(options_.scale[0], options_.scale[1]);
    const double ratio = std::exp(random.uniform(low, high));
    const double w = std::nearbyint(std::sqrt(wanted * ratio)), h = std::nearbyint(std::sqrt(wanted / ratio));
    if (!(w >= 1 && w <= width && h >= 1 && h <= height)) continue;
    const int wide = static_cast<int>(w), tall = static_cast<int>(h);
    const auto y = static_cast<int>(random.below(static_cast<std::uint64_t>(height - tall) + 1));
    const auto x = static_cast<int>(random.below(static_cast<std::uint64_t>(width - wide) + 1));
    return {x, y, wide, tall};
  }
  // No attempt fit: take the middle, as large as the ratio allows.
  const double ratio = static_cast<double>(width) / height;
  int w = width, h = height;
  if (ratio < options_.ratio[0])
    h = at_least_one(width / options_.ratio[0], height);
  else if (ratio > options_.ratio[1])
    w = at_least_one(height * options_.ratio[1], width);
  return {(width - w) / 2, (height - h) / 2, w, h};
}

std::uint64_t random_resized_crop_stage::fingerprint() const noexcept {
  return fingerprint_hash::of(height_, width_, options_.scale, options_.ratio, options_.interpolation);
}

int random_resized_crop_stage::at_least_one(double side, int most) noexcept {
  return static_cast<int>(std::clamp(std::nearbyint(side), 1.0, static_cast<double>(most)));
}

}  // namespace wick::detail

namespace wick::inline v0_1 {

detail::random_crop_stage random_crop(int height, int width, const random_crop_options& options) {
  return {height, width, options};
}

detail::random_crop_stage random_crop(int size, const random_crop_options& options) {
  return {size, size, options};
}

detail::random_resized_crop_stage random_resized_crop(int height, int width,
                                                      const random_resized_crop_options& options) {
  return {height, width, options};
}

detail::random_resized_crop_stage random_resized_crop(int size, const random_resized_crop_options& options) {
  return {size, size, options};
}

}  // namespace wick
