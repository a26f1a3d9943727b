/// \file
/// Stages that draw their operations from a list, color and geometry alike: rand_augment,
/// trivial_augment_wide, auto_augment.
#pragma once

#include <cstdint>
#include <string_view>

#include <wick/image/lazy_image.hpp>
#include <wick/image/pad.hpp>
#include <wick/pixels/geometry.hpp>
#include <wick/sample/context.hpp>
#include <wick/sample/stage.hpp>

namespace wick {

/// For which data auto_augment's list of operations was searched.
enum class auto_augment_policy : std::uint8_t { imagenet, cifar10, svhn };

namespace detail {

struct rand_augment_options {
  int num_ops = 2;              ///< operations a picture, one after the other
  int magnitude = 9;            ///< strength, 0 to num_magnitude_bins - 1
  int num_magnitude_bins = 31;  ///< how many strengths there are, from none to the strongest
  wick::interpolation interpolation = wick::interpolation::nearest;  ///< nearest or bilinear
  fill_color fill{};  ///< what stands where no pixel comes to lie
};

class rand_augment_stage {
 public:
  using stage_kind = on_data;
  using stage_hooks = hooks<hook::fingerprint>;
  static constexpr std::string_view name = "rand_augment";

  explicit rand_augment_stage(const rand_augment_options& options);
  lazy_image operator()(lazy_image picture, context& ctx) const;
  std::uint64_t fingerprint() const noexcept;

 private:
  rand_augment_options options_;
};

struct trivial_augment_wide_options {
  int num_magnitude_bins = 31;  ///< how many strengths there are, from none to the strongest; at least 2
  wick::interpolation interpolation = wick::interpolation::nearest;  ///< nearest or bilinear
  fill_color fill{};  ///< what stands where no pixel comes to lie
};

class trivial_augment_wide_stage {
 public:
  using stage_kind = on_data;
  using stage_hooks = hooks<hook::fingerprint>;
  static constexpr std::string_view name = "trivial_augment_wide";

  explicit trivial_augment_wide_stage(const trivial_augment_wide_options& options);
  lazy_image operator()(lazy_image picture, context& ctx) const;
  std::uint64_t fingerprint() const noexcept;

 private:
  trivial_augment_wide_options options_;
};

struct auto_augment_options {
  wick::interpolation interpolation = wick::interpolation::nearest;  ///< nearest or bilinear
  fill_color fill{};  ///< what stands where no pixel comes to lie
};

class auto_augment_stage {
 public:
  using stage_kind = on_data;
  using stage_hooks = hooks<hook::fingerprint>;
  static constexpr std::string_view name = "auto_augment";

  auto_augment_stage(auto_augment_policy policy, const auto_augment_options& options);
  lazy_image operator()(lazy_image picture, context& ctx) const;
  std::uint64_t fingerprint() const noexcept;

 private:
  auto_augment_policy policy_;
  auto_augment_options options_;
};

}  // namespace detail

/// Some operations of 14, each equally likely and of one strength: `rand_augment({.num_ops = 2, .magnitude =
/// 9})`. Cubuk et al., "RandAugment", 2019; torchvision.transforms.v2.RandAugment.
detail::rand_augment_stage rand_augment(const detail::rand_augment_options& options = {});
/// One operation of 14, of any strength. Müller and Hutter, "TrivialAugment", 2021;
/// torchvision.transforms.v2.TrivialAugmentWide.
detail::trivial_augment_wide_stage trivial_augment_wide(
    const detail::trivial_augment_wide_options& options = {});
/// One of 25 pairs of operations that were found to serve such data. Cubuk et al., "AutoAugment", 2018;
/// torchvision.transforms.v2.AutoAugment.
detail::auto_augment_stage auto_augment(auto_augment_policy policy = auto_augment_policy::imagenet,
                                        const detail::auto_augment_options& options = {});

}  // namespace wick
