// The pad stage: adds a border around the image. It needs the pixels, so earlier operations are carried
// out first.
#pragma once

#include <cstdint>
#include <string_view>

#include <wick/ext/stage.hpp>
#include <wick/image/detail/parts.hpp>
#include <wick/image/detail/steps.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/pipeline/error.hpp>

namespace wick::inline v0_1 {

/// Options of pad().
struct pad_options {
  fill_color fill{};                                               ///< the border's color in constant mode
  wick::padding_mode padding_mode = wick::padding_mode::constant;  ///< how the border is filled
  int mask_fill = 0;  ///< the fill value of a mask's border in constant mode: 255 is often "to be ignored"
};

namespace detail {

class pad_stage : public geometry_stage<pad_stage> {
 public:
  static constexpr stage_traits traits{.name = "pad", .has_fingerprint = true};

  pad_stage(const edges& by, const pad_options& options);
  geometry_steps decide(frame, context&) const noexcept;
  std::uint64_t fingerprint() const noexcept;

 private:
  edges by_;
  pad_options options_;
};

}  // namespace detail

/// Adds a border of `by` pixels: `pad(4)`, or `pad({8, 4})` for left and right, top and bottom.
/// torchvision.transforms.Pad.
detail::pad_stage pad(const edges& by, const pad_options& options = {});
detail::pad_stage pad(int left, int top, int right, int bottom, const pad_options& options = {});

}  // namespace wick
