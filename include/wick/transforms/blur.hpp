// Gaussian blur, fixed or random. It records an operation that runs on the finished pixels, in the batch's
// slot.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include <wick/ext/fingerprint.hpp>
#include <wick/ext/stage.hpp>
#include <wick/image/detail/parts.hpp>
#include <wick/image/lazy_image.hpp>
#include <wick/pipeline/context.hpp>

namespace wick::inline v0_1 {

/// The size of a blur's kernel, in pixels across and down; odd numbers.
struct kernel_size {
  int width = 0, height = 0;

  constexpr kernel_size(int both) noexcept : kernel_size(both, both) {}  // NOLINT: implicit on purpose
  constexpr kernel_size(int across, int down) noexcept : width(across), height(down) {}
};

namespace detail {

/// \throws wick::error when the image is no larger than half of the kernel
void blur(std::string_view stage, lazy_image& picture, const kernel_size& size, double deviation);
void require_kernel(std::string_view stage, const kernel_size& size, double least, double most);

class gaussian_blur_stage : public color_stage<gaussian_blur_stage> {
 public:
  static constexpr stage_traits traits{
      .name = "gaussian_blur", .has_fingerprint = true, .in_slot = slot_phase::color};

  gaussian_blur_stage(const kernel_size& size, double sigma);
  double draw(context&) const noexcept { return sigma_; }
  /// \throws wick::error when the image is no larger than half of the kernel
  void apply(lazy_image& picture, double sigma) const;
  std::uint64_t fingerprint() const noexcept {
    return fingerprint_hash::of(size_.width, size_.height, sigma_);
  }

 private:
  kernel_size size_;
  double sigma_;
};

}  // namespace detail

/// Options of random_gaussian_blur().
struct random_gaussian_blur_options {
  std::array<double, 2> sigma{0.1, 2.0};  ///< least and greatest deviation, in pixels; uniform between
  double p = 1;                           ///< probability that an image is blurred
};

namespace detail {

class random_gaussian_blur_stage : public color_stage<random_gaussian_blur_stage> {
 public:
  static constexpr stage_traits traits{
      .name = "random_gaussian_blur", .has_fingerprint = true, .in_slot = slot_phase::color};

  random_gaussian_blur_stage(const kernel_size& size, const random_gaussian_blur_options& options);
  /// A deviation; 0 when the image doesn't change.
  double draw(context& ctx) const noexcept;
  /// \throws wick::error when the image is no larger than half of the kernel
  void apply(lazy_image& picture, double sigma) const;
  std::uint64_t fingerprint() const noexcept {
    return fingerprint_hash::of(size_.width, size_.height, options_.sigma, options_.p);
  }

 private:
  kernel_size size_;
  random_gaussian_blur_options options_;
};

}  // namespace detail

/// Gaussian blur of deviation `sigma` px over kernel_size x kernel_size px: `gaussian_blur(5, 1.2)`, or
/// `gaussian_blur({5, 3}, 1.2)` for width and height. Borders are mirrored; alpha is blurred, too.
/// torchvision.transforms.v2.functional.gaussian_blur.
detail::gaussian_blur_stage gaussian_blur(const kernel_size& kernel_size, double sigma);
/// Gaussian blur with a deviation drawn for each image: `random_gaussian_blur(23, {.sigma = {0.1, 2},
/// .p = 0.5})`. torchvision.transforms.v2.GaussianBlur.
detail::random_gaussian_blur_stage random_gaussian_blur(const kernel_size& kernel_size,
                                                        const random_gaussian_blur_options& options = {});

}  // namespace wick
