// Stages that change colors at random: random_photometric_distort, random_channel_permutation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <wick/ext/stage.hpp>
#include <wick/image/detail/parts.hpp>
#include <wick/image/lazy_image.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/pixels/detail/pixel_ops.hpp>

namespace wick::inline v0_1 {

/// Options of random_photometric_distort().
struct random_photometric_distort_options {
  std::array<double, 2> brightness{0.875, 1.125};  ///< least and greatest factor
  std::array<double, 2> contrast{0.5, 1.5};        ///< least and greatest factor
  std::array<double, 2> saturation{0.5, 1.5};      ///< least and greatest factor
  std::array<double, 2> hue{-0.05, 0.05};          ///< least and greatest part of the color circle
  double p = 0.5;                                  ///< probability of each change
};

namespace detail {

class random_photometric_distort_stage : public color_stage<random_photometric_distort_stage> {
 public:
  static constexpr stage_traits traits{
      .name = "random_photometric_distort", .has_fingerprint = true, .in_slot = slot_phase::color};

  explicit random_photometric_distort_stage(const random_photometric_distort_options& options);
  /// The operations, in their order.
  struct drawn {
    std::array<pixel_op, 5> ops;
    std::size_t count = 0;
  };
  drawn draw(context& ctx) const noexcept;
  void apply(lazy_image& picture, const drawn& what) const;
  std::uint64_t fingerprint() const noexcept;

 private:
  random_photometric_distort_options options_;
};

struct random_channel_permutation_stage : color_stage<random_channel_permutation_stage> {
  static constexpr stage_traits traits{.name = "random_channel_permutation", .in_slot = slot_phase::color};

  pixel_op draw(context& ctx) const noexcept;
  void apply(lazy_image& picture, const pixel_op& op) const { picture.apply(op); }
};

}  // namespace detail

/// Changes brightness, contrast, saturation, and hue, and permutes the colors, each with probability p.
/// Liu et al., "SSD: Single shot multibox detector", 2016;
/// torchvision.transforms.v2.RandomPhotometricDistort.
detail::random_photometric_distort_stage random_photometric_distort(
    const random_photometric_distort_options& options = {});
/// Permutes the three colors, each order equally likely. Alpha and gray images don't change.
/// torchvision.transforms.v2.RandomChannelPermutation.
detail::random_channel_permutation_stage random_channel_permutation();

}  // namespace wick
