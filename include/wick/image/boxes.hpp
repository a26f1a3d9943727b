// The boxes of an image, with their labels: they are clipped and moved with the image.
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

/// Boxes, each with its label and id. In a sample, they follow the image's crops, resizes, flips, and pads.
/// A crop clips them, and removes a box, with its label and id, when nothing of it is left. sanitize_boxes()
/// removes boxes of which too little is left. torchvision.tv_tensors.BoundingBoxes of the format XYXY.
struct boxes {
  /// Left, top, right, bottom, in px of the image: {0, 0, width, height} covers all of it.
  std::vector<std::array<float, 4>> xyxy;
  std::vector<std::int64_t> labels{};  ///< the class of each box; one for each box, or none
  /// A number of yours for each box, such as where to find it elsewhere; one for each box, or none.
  std::vector<std::int64_t> ids{};
  /// The share of each box that crops have left, in (0, 1]. None before the first geometry stage.
  std::vector<float> visible{};

  std::size_t size() const noexcept { return xyxy.size(); }
  bool empty() const noexcept { return size() == 0; }
  /// Every geometry stage calls this first, whether or not it changes this image.
  void fill_visible();

  friend bool operator==(const boxes&, const boxes&) = default;
};

namespace detail {

/// Applies a geometry step to the boxes of an image that had the size `in`. \throws wick::error when the
/// labels, ids, or shares aren't as many as the boxes, when a coordinate isn't finite, when a width or height
/// is negative, or for a mirrored border, where objects appear that have no box
void follow(boxes& of, const geometry_step& step, frame in);

}  // namespace detail

/// Options of sanitize_boxes().
struct sanitize_boxes_options {
  double min_size = 1;     ///< least width and height, in px of the image at this stage
  double min_visible = 0;  ///< least share of a box's area that earlier crops have left
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

/// Removes boxes that are too small, or of which crops have left too little, with their labels and ids. It
/// first clips boxes that reach past the image; torchvision.transforms.v2.SanitizeBoundingBoxes removes
/// those. \throws wick::error when the size is negative, or the share isn't in [0, 1]
detail::sanitize_boxes_stage sanitize_boxes(const sanitize_boxes_options& options = {});

}  // namespace wick
