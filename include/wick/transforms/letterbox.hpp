// The letterbox stage: fits an image of any shape into a rectangle of one size, keeps its proportions, and
// fills the rest with a border.
#pragma once

#include <cstdint>
#include <string_view>

#include <wick/ext/stage.hpp>
#include <wick/image/detail/parts.hpp>
#include <wick/image/detail/steps.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/pixels/geometry.hpp>

namespace wick::inline v0_1 {

/// Options of letterbox().
struct letterbox_options {
  fill_color fill{};    ///< the border's color
  int mask_fill = 0;    ///< the fill value of a mask's border
  bool enlarge = true;  ///< enlarge a smaller image; otherwise, its border grows instead
  wick::interpolation interpolation = wick::interpolation::bilinear;  ///< the filter of the resize
};

namespace detail {

class letterbox_stage : public geometry_stage<letterbox_stage> {
 public:
  static constexpr stage_traits traits{
      .name = "letterbox", .has_fingerprint = true, .in_slot = slot_phase::resize};

  letterbox_stage(int height, int width, const letterbox_options& options);
  geometry_steps decide(frame size, context&) const noexcept;

  /// The place of an image of this size in the result.
  rect place_for(int width, int height) const noexcept;
  std::uint64_t fingerprint() const noexcept;

 private:
  int height_, width_;
  letterbox_options options_;
};

}  // namespace detail

/// Scales the whole image, in its proportions, to the largest size that fits into height x width px, and
/// centers it. The rest is a border, as detectors such as YOLO expect; an odd pixel goes to the right and
/// bottom.
detail::letterbox_stage letterbox(int height, int width, const letterbox_options& options = {});
detail::letterbox_stage letterbox(int size, const letterbox_options& options = {});

}  // namespace wick
