/// \file
/// The boxes of a picture, with their labels: cut and moved as the picture is.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <wick/ext/stage.hpp>
#include <wick/image/detail/parts.hpp>
#include <wick/image/detail/steps.hpp>
#include <wick/pipeline/context.hpp>

namespace wick::inline v0_1 {

/// Boxes and what belongs to each. In a sample they go along with the picture's crops, resizes, flips and
/// pads. A crop cuts them, and those of which nothing is left are gone, with what belongs to them;
/// sanitize_boxes() takes away those of which too little is left.
/// torchvision.tv_tensors.BoundingBoxes of the format XYXY.
struct boxes {
  /// Left, top, right, bottom, in px of the picture: one as large as that is {0, 0, width, height}.
  std::vector<std::array<float, 4>> xyxy;
  std::vector<std::int64_t> labels{};  ///< the class of each; as many, or none
  std::vector<std::int64_t>
      ids{};  ///< a number of yours for each, such as where else to find it; as many, or none
  /// Share of each that crops have left, in (0, 1]. None before the first stage of geometry.
  std::vector<float> visible{};

  std::size_t size() const noexcept { return xyxy.size(); }
  bool empty() const noexcept { return xyxy.empty(); }
  /// What a stage of geometry does first, whether or not it changes this picture.
  void fill_visible() {
    if (visible.empty()) visible.assign(size(), 1.0f);
  }

  friend bool operator==(const boxes&, const boxes&) = default;
};

namespace detail {

/// Does what a stage of geometry did to the picture, which had the size `in`. \throws wick::error when
/// there are not as many labels, ids or shares as boxes, a side is no number or less than 0, or for a
/// border that is mirrored, in which things are that have no box
void follow(boxes& of, const geometry_step& step, frame in);

}  // namespace detail

/// Options of sanitize_boxes().
struct sanitize_boxes_options {
  double min_size = 1;     ///< least width and height, in px of the picture as it is here
  double min_visible = 0;  ///< least share of a box's area that the crops before this have left
};

namespace detail {

class sanitize_boxes_stage : public geometry_stage<sanitize_boxes_stage> {
 public:
  static constexpr stage_traits traits{
      .name = "sanitize_boxes", .has_fingerprint = true, .in_slot = slot_phase::resize};

  explicit sanitize_boxes_stage(const sanitize_boxes_options& options);
  geometry_steps decide(frame, context&) const noexcept;
  std::uint64_t fingerprint() const noexcept;

 private:
  sanitize_boxes_options options_;
};

}  // namespace detail

/// Takes boxes away that are too small, or of which crops have left too little, with what belongs to them.
/// What reaches past the picture is cut first. torchvision.transforms.v2.SanitizeBoundingBoxes, which takes
/// those away. \throws wick::error for a size below 0, or a share that is none
detail::sanitize_boxes_stage sanitize_boxes(const sanitize_boxes_options& options = {});

}  // namespace wick
