/// \file
/// The random_erasing stage: a box of the picture is overwritten.
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
  double p = 0.5;                           ///< how likely a picture loses a box
  std::array<double, 2> scale{0.02, 0.33};  ///< least and greatest share of the picture's area
  std::array<double, 2> ratio{0.3, 3.3};    ///< least and greatest height / width of the box
  channel_values value = 0;                 ///< what is put there, for all channels or for each
  bool noise = false;  ///< normal numbers in place of `value`; behind normalize or to_float
};

namespace detail {

class random_erasing_stage : public color_stage<random_erasing_stage> {
 public:
  static constexpr stage_traits traits{
      .name = "random_erasing", .has_fingerprint = true, .in_slot = slot_phase::color};

  explicit random_erasing_stage(const random_erasing_options& options);
  /// Whether a box is erased, and the numbers that say which one of a picture's size.
  struct drawn {
    bool chosen = false;
    random_stream random;
  };
  drawn draw(context& ctx) const noexcept;
  void apply(lazy_image& picture, drawn what) const;
  std::uint64_t fingerprint() const noexcept;

 private:
  /// Empty where none of ten tries was smaller than the picture.
  rect box(random_stream& random, int width, int height) const;
  random_erasing_options options_;
};

}  // namespace detail

/// Overwrites a box of random place, size and proportions, with probability p. `value` is a level, 0 to 255,
/// of a picture of 8 bits; behind normalize or to_float, where it is the last picture stage, it is a number
/// as they make them. Zhong et al., "Random erasing data augmentation", 2017;
/// torchvision.transforms.v2.RandomErasing.
detail::random_erasing_stage random_erasing(const random_erasing_options& options = {});

}  // namespace wick
