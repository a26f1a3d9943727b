// The random_erasing stage: overwrites a box of the image.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include <wick/ext/stage.hpp>
#include <wick/image/detail/parts.hpp>
#include <wick/image/lazy_image.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/pipeline/random.hpp>
#include <wick/pixels/geometry.hpp>
#include <wick/transforms/normalize.hpp>

namespace wick::inline v0_1 {

/// Options of random_erasing().
struct random_erasing_options {
  double p = 0.5;                           ///< probability that a box is erased
  std::array<double, 2> scale{0.02, 0.33};  ///< least and greatest share of the image's area
  std::array<double, 2> ratio{0.3, 3.3};    ///< least and greatest height / width of the box
  channel_values value = 0;                 ///< the value to write, for all channels or for each
  bool noise = false;  ///< normally distributed numbers in place of `value`; after normalize or to_float
};

namespace detail {

class random_erasing_stage : public color_stage<random_erasing_stage> {
 public:
  static constexpr stage_traits traits{
      .name = "random_erasing", .has_fingerprint = true, .in_slot = slot_phase::color};

  explicit random_erasing_stage(const random_erasing_options& options);
  /// Whether a box is erased, and the random numbers that choose it for an image's size.
  struct drawn {
    bool chosen = false;
    random_stream random;
  };
  drawn draw(context& ctx) const noexcept;
  void apply(lazy_image& picture, drawn what) const;
  std::uint64_t fingerprint() const noexcept;

 private:
  /// Empty when none of ten tries was smaller than the image.
  rect box(random_stream& random, int width, int height) const;
  random_erasing_options options_;
};

}  // namespace detail

/// Overwrites a box of random place, size, and proportions, with probability p. For an 8-bit image, `value`
/// is a level, 0 to 255. After normalize or to_float, `value` is a number on their scale, and no resize or
/// color stage may follow random_erasing. Zhong et al., "Random erasing data augmentation", 2017;
/// torchvision.transforms.v2.RandomErasing.
detail::random_erasing_stage random_erasing(const random_erasing_options& options = {});

}  // namespace wick
