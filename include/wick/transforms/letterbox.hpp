/// \file
/// The letterbox stage: a picture of any shape in a rectangle of one size, in its proportions, with a border
/// where it leaves room.
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
  int mask_fill = 0;    ///< what stands in a mask's border
  bool enlarge = true;  ///< whether a picture that is smaller grows; where not, its border does
  wick::interpolation interpolation = wick::interpolation::bilinear;  ///< the filter of the resize
};

namespace detail {

class letterbox_stage : public geometry_stage<letterbox_stage> {
 public:
  static constexpr stage_traits traits{
      .name = "letterbox", .has_fingerprint = true, .in_slot = slot_phase::resize};

  letterbox_stage(int height, int width, const letterbox_options& options);
  geometry_steps decide(frame size, context&) const noexcept;

  /// Where in the result a picture of this size comes to lie.
  rect place_for(int width, int height) const noexcept;
  std::uint64_t fingerprint() const noexcept;

 private:
  int height_, width_;
  letterbox_options options_;
};

}  // namespace detail

/// The whole picture in its proportions, as large as fits into height x width px, in the middle of that. What
/// is left is a border, as detectors such as YOLO take it; an odd pixel goes to the right and below.
detail::letterbox_stage letterbox(int height, int width, const letterbox_options& options = {});
detail::letterbox_stage letterbox(int size, const letterbox_options& options = {});

}  // namespace wick
