// The normalize stage on single images: converts bytes to float32 with mean 0 and deviation 1, straight
// into the batch's slot. (After transfer(), the same stage works on whole batches, on the device: see
// torch/.)
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <type_traits>

#include <wick/ext/stage.hpp>
#include <wick/image/detail/parts.hpp>
#include <wick/image/lazy_image.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/pipeline/detail/kept_value.hpp>
#include <wick/pixels/detail/pixel_ops.hpp>

namespace wick::inline v0_1 {

/// A number for each channel, or one for all: `0.5`, `{0.485, 0.456, 0.406}`.
struct channel_values {
  std::array<float, 4> values{};
  int count = 0;

  channel_values(double all) noexcept
      : values{static_cast<float>(all)}, count(1) {}  // NOLINT: implicit on purpose
  /// \throws wick::error unless there are one to four
  channel_values(std::initializer_list<double> each);
};

namespace detail {

/// Base of the stages of which a pipeline may have only one.
struct normalizes {};

class normalize_stage : public color_stage<normalize_stage>, public normalizes {
 public:
  static constexpr stage_traits traits{.name = "normalize",
                                       .has_fingerprint = true,
                                       .has_check = true,
                                       .has_apply_stage = true,
                                       .in_slot = slot_phase::color};

  normalize_stage(const channel_values& mean, const channel_values& deviation);

  const normalization& draw(context&) const noexcept { return by_; }
  void apply(lazy_image& picture, const normalization& by) const { picture.normalize(by); }

  /// Only the first count() values are used; a single value applies to every channel.
  const std::array<float, 4>& mean() const noexcept { return by_.mean; }
  const std::array<float, 4>& std() const noexcept { return by_.deviation; }
  int count() const noexcept { return by_.count; }
  std::uint64_t fingerprint() const noexcept;
  /// For torch/normalize_tensors.hpp: the numbers as tensors, on the batches' device.
  const kept_value& kept() const noexcept { return kept_; }

  template <class, class... Before>
  static consteval bool check() {
    constexpr bool first = !(std::is_base_of_v<normalizes, Before> || ...);
    static_assert(
        first,
        "wick: this pipeline normalizes already; a second normalize() was found; write one of the two");
    return first;
  }

 private:
  normalization by_;
  kept_value kept_;
};

}  // namespace detail

/// Computes (x / 255 - mean) / std as float32, per channel; mean and std are for pixels in [0, 1], like
/// torchvision's Normalize after ToTensor. It is the last image stage.
detail::normalize_stage normalize(const channel_values& mean, const channel_values& std);

}  // namespace wick
