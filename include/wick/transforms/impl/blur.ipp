// Implements transforms/blur.hpp. Included in exactly one file of a program.
#pragma once

#include <cmath>
#include <string>

#include <wick/image/detail/arguments.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/pixels/detail/pixel_ops.hpp>
#include <wick/pixels/geometry.hpp>
#include <wick/transforms/blur.hpp>

namespace wick::inline v0_1::detail {

void require_kernel(std::string_view stage, const kernel_size& size, double least, double most) {
  if (size.width < 1 || size.height < 1 || size.width % 2 == 0 || size.height % 2 == 0) {
    throw error(std::string(stage) + ": a kernel of " + size_text(size.width, size.height) +
                " px has no middle; give odd numbers from 1 on");
  }
  if (!(least > 0 && least <= most && std::isfinite(most))) {
    throw error(std::string(stage) + ": sigma " + std::to_string(least) +
                (least == most ? "" : " to " + std::to_string(most)) +
                "; give a deviation in pixels above 0" + (least == most ? "" : ", the least one first"));
  }
}

void blur(std::string_view stage, lazy_image& picture, const kernel_size& size, double deviation) {
  if (size.width / 2 >= picture.width() || size.height / 2 >= picture.height()) {
    throw error(std::string(stage) + ": a picture of " + size_text(picture.width(), picture.height()) +
                " px can't be mirrored for a kernel of " + size_text(size.width, size.height) +
                " px; resize first, or give a smaller kernel");
  }
  picture.apply({pixel_op::kind::blur, deviation, {}, {0, 0, size.width, size.height}});
}

gaussian_blur_stage::gaussian_blur_stage(const kernel_size& size, double sigma) : size_(size), sigma_(sigma) {
  detail::require_kernel(traits.name, size, sigma, sigma);
}

void gaussian_blur_stage::apply(lazy_image& picture, double sigma) const {
  detail::blur(traits.name, picture, size_, sigma);
}

random_gaussian_blur_stage::random_gaussian_blur_stage(const kernel_size& size,
                                                       const random_gaussian_blur_options& options)
    : size_(size), options_(options) {
  detail::require_kernel(traits.name, size, options.sigma[0], options.sigma[1]);
  detail::require_probability(traits.name, options.p);
}

double random_gaussian_blur_stage::draw(context& ctx) const noexcept {
  random_stream& random = ctx.random();
  return random.bernoulli(options_.p) ? random.uniform(options_.sigma[0], options_.sigma[1]) : 0;
}

void random_gaussian_blur_stage::apply(lazy_image& picture, double sigma) const {
  if (sigma > 0) detail::blur(traits.name, picture, size_, sigma);
}

}  // namespace wick::detail

namespace wick::inline v0_1 {

detail::gaussian_blur_stage gaussian_blur(const kernel_size& kernel_size, double sigma) {
  return {kernel_size, sigma};
}

detail::random_gaussian_blur_stage random_gaussian_blur(const kernel_size& kernel_size,
                                                        const random_gaussian_blur_options& options) {
  return {kernel_size, options};
}

}  // namespace wick
