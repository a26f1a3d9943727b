// The random_iou_crop stage: crops around some of a sample's boxes, for training detectors.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

#include <wick/batch/detail/fields.hpp>
#include <wick/ext/stage.hpp>
#include <wick/image/boxes.hpp>
#include <wick/image/detail/parts.hpp>
#include <wick/image/detail/steps.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/pipeline/random.hpp>
#include <wick/pixels/geometry.hpp>

namespace wick::inline v0_1 {

/// Options of random_iou_crop().
struct random_iou_crop_options {
  std::array<double, 2> scale{0.3, 1};  ///< least and greatest share of the width, and of the height
  std::array<double, 2> ratio{0.5, 2};  ///< least and greatest width / height of the crop
  /// One of these is drawn: the crop has at least that intersection over union with one of the boxes whose
  /// middle is in it. 1 stands for the whole image.
  std::vector<double> min_iou{0, 0.1, 0.3, 0.5, 0.7, 0.9, 1};
  int trials = 40;  ///< crops to try before another value of min_iou is drawn
};

namespace detail {

struct any_boxes {
  template <class T>
  static constexpr bool is = std::is_same_v<T, boxes>;
};

class random_iou_crop_stage {
 public:
  static constexpr stage_traits traits{
      .name = "random_iou_crop", .has_fingerprint = true, .has_check = true, .in_slot = slot_phase::resize};

  explicit random_iou_crop_stage(const random_iou_crop_options& options);

  template <class Item>
    requires(is_of_parts<any_placed, Item> && holds<any_with_pixels, Item>() && holds<any_boxes, Item>())
  Item operator()(Item item, context& c) const {
    const frame size = detail::frame_of(item);
    const boxes* of = nullptr;
    const auto look = [&of](const boxes& each) { of = of == nullptr ? &each : of; };
    for_each_part<any_boxes>(item, look);
    const std::optional<rect> part = of == nullptr ? std::nullopt : choose(size, *of, c.random());
    detail::fill_visible(item);
    if (!part) return item;
    geometry_step step = geometry_step::crop(*part);
    step.by_middle = true;
    const auto move = [&](auto& each) { follow(each, step, size); };
    for_each_part<any_placed>(item, move);
    return item;
  }

  template <class Item, class...>
  static consteval bool check() {
    constexpr bool has_boxes = !holds<any_with_pixels, Item>() || holds<any_boxes, Item>();
    static_assert(has_boxes,
                  "wick: random_iou_crop() crops around boxes, and the sample has none; give wick::boxes "
                  "beside the picture: zip(files(paths), in_memory(boxes))");
    return has_boxes;
  }

  /// The rectangle for such an image, or none for the whole one: torchvision's RandomIoUCrop.make_params.
  std::optional<rect> choose(frame size, const boxes& of, random_stream& random) const;
  std::uint64_t fingerprint() const noexcept;

 private:
  std::optional<rect> try_one(frame size, const boxes& of, double min_iou, random_stream& random) const;
  random_iou_crop_options options_;
};

}  // namespace detail

/// Crops to a random size and shape around some of the boxes. Boxes whose middle is outside are removed, and
/// the others are clipped. Outlines are treated the same, by the middle of all that have one id. An image
/// without boxes stays whole, and so does one for which 100 draws of `min_iou` find no crop. Liu et al.,
/// "SSD", 2015; torchvision.transforms.v2.RandomIoUCrop with SanitizeBoundingBoxes.
detail::random_iou_crop_stage random_iou_crop(const random_iou_crop_options& options = {});

}  // namespace wick
