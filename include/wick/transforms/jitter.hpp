// Color stages: color_jitter, grayscale, random_grayscale. They record operations that run on the finished
// pixels, in the batch's slot.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <wick/ext/fingerprint.hpp>
#include <wick/ext/stage.hpp>
#include <wick/image/detail/arguments.hpp>
#include <wick/image/detail/parts.hpp>
#include <wick/image/lazy_image.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/pixels/detail/pixel_ops.hpp>

namespace wick::inline v0_1 {

namespace detail {

class color_jitter_stage : public color_stage<color_jitter_stage> {
 public:
  static constexpr stage_traits traits{
      .name = "color_jitter", .has_fingerprint = true, .in_slot = slot_phase::color};

  color_jitter_stage(double brightness, double contrast, double saturation, double hue);
  /// The operations, in their order.
  struct drawn {
    std::array<pixel_op, 4> ops;
    std::size_t count = 0;
  };
  drawn draw(context& ctx) const;
  void apply(lazy_image& picture, const drawn& what) const;
  std::uint64_t fingerprint() const noexcept { return fingerprint_hash::of(amount_); }

 private:
  std::array<double, 4> amount_;
};

}  // namespace detail

/// Changes brightness, contrast, and saturation by factors uniform in [max(0, 1 - x), 1 + x], and rotates the
/// hue by a fraction of the circle uniform in [-x, x], in random order. torchvision.transforms.ColorJitter,
/// with its uint8 tensor formulas.
detail::color_jitter_stage color_jitter(double brightness = 0, double contrast = 0, double saturation = 0,
                                        double hue = 0);

namespace detail {

class grayscale_stage : public color_stage<grayscale_stage> {
 public:
  static constexpr stage_traits traits{
      .name = "grayscale", .has_fingerprint = true, .in_slot = slot_phase::color};

  explicit grayscale_stage(int channels);
  int draw(context&) const noexcept { return channels_; }
  void apply(lazy_image& picture, int channels) const { picture.make_gray(channels); }
  std::uint64_t fingerprint() const noexcept { return fingerprint_hash::of(channels_); }

 private:
  int channels_;
};

}  // namespace detail

/// Converts to gray, as one channel or as three equal ones. torchvision.transforms.Grayscale.
inline detail::grayscale_stage grayscale(int channels = 1) { return detail::grayscale_stage(channels); }

namespace detail {

class random_grayscale_stage : public color_stage<random_grayscale_stage> {
 public:
  static constexpr stage_traits traits{
      .name = "random_grayscale", .has_fingerprint = true, .in_slot = slot_phase::color};

  explicit random_grayscale_stage(double p) : p_(p) { detail::require_probability(traits.name, p); }
  bool draw(context& ctx) const noexcept { return ctx.random().bernoulli(p_); }
  void apply(lazy_image& picture, bool gray) const;
  std::uint64_t fingerprint() const noexcept { return fingerprint_hash::of(p_); }

 private:
  double p_;
};

}  // namespace detail

/// Converts to gray with probability p; the number of channels doesn't change.
/// torchvision.transforms.RandomGrayscale.
detail::random_grayscale_stage random_grayscale(double p = 0.1);

}  // namespace wick
