// Stages that draw color and geometry operations from a list: rand_augment, trivial_augment_wide, and
// auto_augment. The sample's other parts follow the image's geometry.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <wick/ext/stage.hpp>
#include <wick/image/detail/parts.hpp>
#include <wick/image/detail/steps.hpp>
#include <wick/image/lazy_image.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/pixels/detail/pixel_ops.hpp>
#include <wick/pixels/geometry.hpp>

namespace wick::inline v0_1 {

/// The data set for which auto_augment's list of operations was searched.
enum class auto_augment_policy : std::uint8_t { imagenet, cifar10, svhn };

namespace detail {

/// One operation: on the colors of images, or else on the geometry of all parts.
struct augment_op {
  std::optional<pixel_op> color{};
  geometry_step move{};
};

/// `Stage` has `std::vector<augment_op> draw(frame, context&) const`; no operation changes the size.
template <class Stage>
class augment_stage {
 public:
  lazy_image operator()(lazy_image picture, context& c) const {
    for (const augment_op& op : self().draw({picture.width(), picture.height()}, c)) {
      if (!op.color)
        picture.follow(op.move);
      else if (picture.color_stages())
        picture.apply(*op.color);
    }
    return picture;
  }
  template <class Item>
    requires(is_of_parts<any_placed, Item> && holds<any_colored, Item>())
  Item operator()(Item item, context& c) const {
    const frame size = detail::frame_of(item);
    detail::fill_visible(item);
    for (const augment_op& op : self().draw(size, c)) {
      const auto color = [&](lazy_image& picture) {
        if (picture.color_stages()) picture.apply(*op.color);
      };
      const auto move = [&](auto& part) { follow(part, op.move, size); };
      if (op.color)
        for_each_part<any_colored>(item, color);
      else
        for_each_part<any_placed>(item, move);
    }
    return item;
  }

 private:
  const Stage& self() const noexcept { return static_cast<const Stage&>(*this); }
};

}  // namespace detail

/// Options of rand_augment().
struct rand_augment_options {
  int num_ops = 2;              ///< operations per image, one after another
  int magnitude = 9;            ///< strength, 0 to num_magnitude_bins - 1
  int num_magnitude_bins = 31;  ///< the number of strengths, from none to the strongest
  wick::interpolation interpolation = wick::interpolation::nearest;  ///< nearest or bilinear
  fill_color fill{};                                                 ///< the fill color outside the source
  int mask_fill = 0;                                                 ///< the same for masks
};

namespace detail {

class rand_augment_stage : public augment_stage<rand_augment_stage> {
 public:
  static constexpr stage_traits traits{
      .name = "rand_augment", .has_fingerprint = true, .in_slot = slot_phase::color};

  explicit rand_augment_stage(const rand_augment_options& options);
  std::vector<augment_op> draw(frame size, context& ctx) const;
  std::uint64_t fingerprint() const noexcept;

 private:
  rand_augment_options options_;
};

}  // namespace detail

/// Options of trivial_augment_wide().
struct trivial_augment_wide_options {
  int num_magnitude_bins = 31;  ///< the number of strengths, from none to the strongest; at least 2
  wick::interpolation interpolation = wick::interpolation::nearest;  ///< nearest or bilinear
  fill_color fill{};                                                 ///< the fill color outside the source
  int mask_fill = 0;                                                 ///< the same for masks
};

namespace detail {

class trivial_augment_wide_stage : public augment_stage<trivial_augment_wide_stage> {
 public:
  static constexpr stage_traits traits{
      .name = "trivial_augment_wide", .has_fingerprint = true, .in_slot = slot_phase::color};

  explicit trivial_augment_wide_stage(const trivial_augment_wide_options& options);
  std::vector<augment_op> draw(frame size, context& ctx) const;
  std::uint64_t fingerprint() const noexcept;

 private:
  trivial_augment_wide_options options_;
};

}  // namespace detail

/// Options of auto_augment().
struct auto_augment_options {
  wick::interpolation interpolation = wick::interpolation::nearest;  ///< nearest or bilinear
  fill_color fill{};                                                 ///< the fill color outside the source
  int mask_fill = 0;                                                 ///< the same for masks
};

namespace detail {

class auto_augment_stage : public augment_stage<auto_augment_stage> {
 public:
  static constexpr stage_traits traits{
      .name = "auto_augment", .has_fingerprint = true, .in_slot = slot_phase::color};

  auto_augment_stage(auto_augment_policy policy, const auto_augment_options& options);
  std::vector<augment_op> draw(frame size, context& ctx) const;
  std::uint64_t fingerprint() const noexcept;

 private:
  auto_augment_policy policy_;
  auto_augment_options options_;
};

}  // namespace detail

/// Applies some of 14 operations, each equally likely and of one strength: `rand_augment({.num_ops = 2,
/// .magnitude = 9})`. Masks, boxes, keypoints, and polygons follow the geometry operations of all three of
/// these stages; torchvision's stages refuse them. Cubuk et al., "RandAugment", 2019;
/// torchvision.transforms.v2.RandAugment.
detail::rand_augment_stage rand_augment(const rand_augment_options& options = {});
/// Applies one of 14 operations, of any strength. Müller and Hutter, "TrivialAugment", 2021;
/// torchvision.transforms.v2.TrivialAugmentWide.
detail::trivial_augment_wide_stage trivial_augment_wide(const trivial_augment_wide_options& options = {});
/// Applies one of 25 pairs of operations that were found to work for such data. Cubuk et al., "AutoAugment",
/// 2018; torchvision.transforms.v2.AutoAugment.
detail::auto_augment_stage auto_augment(auto_augment_policy policy = auto_augment_policy::imagenet,
                                        const auto_augment_options& options = {});

}  // namespace wick
