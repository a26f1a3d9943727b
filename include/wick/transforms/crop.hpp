// Cropping stages: center_crop, random_crop, random_resized_crop. They decide on a rectangle; no pixel moves
// yet.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include <wick/ext/fingerprint.hpp>
#include <wick/ext/stage.hpp>
#include <wick/image/detail/parts.hpp>
#include <wick/image/detail/steps.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/pixels/geometry.hpp>
#include <wick/transforms/pad.hpp>

namespace wick::inline v0_1 {

// ---- center_crop ----

namespace detail {

class center_crop_stage : public geometry_stage<center_crop_stage> {
 public:
  static constexpr stage_traits traits{
      .name = "center_crop", .has_fingerprint = true, .in_slot = slot_phase::resize};

  center_crop_stage(int height, int width);
  geometry_steps decide(frame size, context&) const noexcept;
  std::uint64_t fingerprint() const noexcept { return fingerprint_hash::of(height_, width_); }

 private:
  /// Half of n as torchvision rounds it: ties to even, Python's round().
  static int half(int n) noexcept { return n / 2 + (n % 2 != 0 ? (n / 2) & 1 : 0); }
  int height_, width_;
};

}  // namespace detail

/// Cuts out the middle, height x width px. Unlike torchvision's, it doesn't pad a smaller image, which is
/// an error of the sample.
inline detail::center_crop_stage center_crop(int height, int width) { return {height, width}; }
inline detail::center_crop_stage center_crop(int size) { return {size, size}; }

// ---- random_crop ----

/// Options of random_crop().
struct random_crop_options {
  edges padding{};             ///< added before the crop: `.padding = 4`
  bool pad_if_needed = false;  ///< widen an image that is smaller than the crop, on both sides
  fill_color fill{};           ///< the border's color in constant mode
  wick::padding_mode padding_mode = wick::padding_mode::constant;  ///< how the border is filled
  int mask_fill = 0;  ///< the fill value of a mask's border in constant mode
};

namespace detail {

class random_crop_stage : public geometry_stage<random_crop_stage> {
 public:
  static constexpr stage_traits traits{
      .name = "random_crop", .has_fingerprint = true, .in_slot = slot_phase::resize};

  random_crop_stage(int height, int width, const random_crop_options& options);
  geometry_steps decide(frame size, context& ctx) const noexcept;
  std::uint64_t fingerprint() const noexcept;

 private:
  static int below(context& ctx, int bound) noexcept;
  int height_, width_;
  random_crop_options options_;
};

}  // namespace detail

/// Cuts out a rectangle of height x width px; every place is equally likely.
/// torchvision.transforms.RandomCrop.
detail::random_crop_stage random_crop(int height, int width, const random_crop_options& options = {});
detail::random_crop_stage random_crop(int size, const random_crop_options& options = {});

// ---- random_resized_crop ----

/// Options of random_resized_crop().
struct random_resized_crop_options {
  std::array<double, 2> scale{0.08, 1.0};  ///< least and greatest share of the image's area
  std::array<double, 2> ratio{3.0 / 4.0,
                              4.0 / 3.0};  ///< least and greatest width / height, before the resize
  wick::interpolation interpolation = wick::interpolation::bilinear;  ///< the filter of the resize
};

namespace detail {

class random_resized_crop_stage : public geometry_stage<random_resized_crop_stage> {
 public:
  static constexpr stage_traits traits{
      .name = "random_resized_crop", .has_fingerprint = true, .in_slot = slot_phase::resize};

  random_resized_crop_stage(int height, int width, const random_resized_crop_options& options);
  geometry_steps decide(frame size, context& ctx) const noexcept;

  /// The rectangle for an image of this size: torchvision's RandomResizedCrop.get_params.
  rect choose(int width, int height, random_stream& random) const noexcept;
  std::uint64_t fingerprint() const noexcept;

 private:
  static int at_least_one(double side, int most) noexcept;
  int height_, width_;
  random_resized_crop_options options_;
};

}  // namespace detail

/// Cuts out a rectangle of random area and shape, and resizes it to height x width px: the usual augmentation
/// for ImageNet training (Szegedy et al., "Going deeper with convolutions", 2015).
/// torchvision.transforms.RandomResizedCrop.
detail::random_resized_crop_stage random_resized_crop(int height, int width,
                                                      const random_resized_crop_options& options = {});
detail::random_resized_crop_stage random_resized_crop(int size,
                                                      const random_resized_crop_options& options = {});

}  // namespace wick
