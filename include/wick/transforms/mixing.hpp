// mixup(), cutmix(), and mosaic(): images made from several samples of one epoch.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <wick/batch/detail/fields.hpp>
#include <wick/ext/stage.hpp>
#include <wick/image/boxes.hpp>
#include <wick/image/detail/parts.hpp>
#include <wick/image/lazy_image.hpp>
#include <wick/image/mask.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/pipeline/pipeline.hpp>
#include <wick/pipeline/random.hpp>
#include <wick/pipeline/sample.hpp>
#include <wick/pipeline/shape.hpp>
#include <wick/pipeline/with_others.hpp>
#include <wick/pixels/geometry.hpp>
#include <wick/pixels/image.hpp>

namespace wick::inline v0_1 {

/// Class probabilities; they sum to 1. Batches as [classes], float32, which cross_entropy accepts in place of
/// a class number.
struct soft_label {
  std::vector<float> shares;

  wick::shape extents() const { return {static_cast<std::int64_t>(shares.size())}; }
  dtype type() const noexcept { return dtype::float32; }
  void write_to(ext::slot to) const noexcept;
  friend bool operator==(const soft_label&, const soft_label&) = default;
};

/// Options of mixup().
struct mixup_options {
  double alpha = 1;  ///< parameter of the shares' Beta distribution; 0.2 keeps most images nearly whole
  double p = 1;      ///< probability that an image is mixed
};

/// Options of mosaic().
struct mosaic_options {
  double p = 1;       ///< probability of a mosaic; otherwise, the sample is alone at the center
  int fill = 114;     ///< level of the area that no image covers
  int mask_fill = 0;  ///< the same for masks, 0 to 255
};

namespace detail {

/// Draws from Beta(alpha, alpha), in [0, 1], by two Gamma variates: Marsaglia, Tsang: "A Simple Method for
/// Generating Gamma Variables", 2000.
double draw_beta(random_stream& from, double alpha);
/// Probability 1 for class `label`. \throws wick::error when there is no such class
soft_label soften(std::int64_t label, std::size_t classes);
/// The same label. \throws wick::error when it has a different number of classes
soft_label soften(soft_label label, std::size_t classes);
/// share · a + (1 − share) · b. \throws wick::error when the sizes differ
void blend(image& a, const image& b, double share);
void blend(soft_label& a, const soft_label& b, double share) noexcept;
/// Overwrites a part of `a` with the same part of `b`. \throws wick::error when the sizes differ
void paste(image& a, const image& b, const rect& part);
/// The part that CutMix takes from the other image: a rectangle around (x, y), clipped to the image.
rect cut_at(int x, int y, int width, int height, double share);
/// MixUp and CutMix with drawn parameters. \throws wick::error when the sizes differ
void mixup_by(sample<image, soft_label>& into, const sample<image, soft_label>& other, double share);
void cutmix_by(sample<image, soft_label>& into, const sample<image, soft_label>& other, double share, int x,
               int y);

/// The stage of both mixup and cutmix.
class mixed_pair_stage {
 public:
  static constexpr stage_traits traits{
      .name = "mixup", .kind = stage_kind::sample, .has_label = true, .has_fingerprint = true};

  mixed_pair_stage(bool cut, std::size_t classes, const mixup_options& options);
  std::string_view label() const noexcept { return cut_ ? "cutmix" : "mixup"; }
  std::uint64_t fingerprint() const noexcept;

  template <class Picture, class Label>
    requires((std::is_same_v<Picture, image> || std::is_same_v<Picture, lazy_image>) &&
             (std::is_integral_v<Label> || std::is_same_v<Label, soft_label>))
  sample<image, soft_label> operator()(sample_with_others<sample<Picture, Label>>& all, context& c) const {
    sample<image, soft_label> out{materialized<Picture>::make(std::move(all.own.data)),
                                  soften(std::move(all.own.target), classes_)};
    for (auto& other : all.others)
      mix(out, {std::move(other.data), soften(std::move(other.target), classes_)}, c.random());
    return out;
  }

 private:
  void mix(sample<image, soft_label>& into, const sample<image, soft_label>& other,
           random_stream& random) const;
  bool cut_;
  std::size_t classes_;
  mixup_options options_;
};

/// The place of one of the four images in the mosaic.
struct mosaic_tile {
  rect part;         ///< the visible part, in the image's own pixels
  int x = 0, y = 0;  ///< the place of that part in the mosaic
};
/// Quadrants 0 to 3: upper left, upper right, lower left, and lower right of the center.
mosaic_tile tile_at(int quadrant, int center_x, int center_y, frame of, int side) noexcept;
void place_tile(image& canvas, const image& picture, const mosaic_tile& tile);
void place_tile(boxes& all, boxes more, const mosaic_tile& tile, frame size);

/// The images of one mosaic: the sample's own, and three others, or none.
struct mosaic_plan {
  std::size_t count = 0;
  std::array<frame, 4> sizes{};
  std::array<mosaic_tile, 4> where{};
};

class mosaic_stage {
 public:
  static constexpr stage_traits traits{.name = "mosaic", .kind = stage_kind::sample, .has_fingerprint = true};

  mosaic_stage(int size, const mosaic_options& options);
  std::uint64_t fingerprint() const noexcept;

  template <class Item>
    requires(holds<any_colored, Item>())
  materialized_t<Item> operator()(sample_with_others<Item>& all, context& c) const {
    using made = materialized_t<Item>;
    made own = materialized<Item>::make(std::move(all.own));
    std::array<made*, 4> from{&own};
    mosaic_plan plan;
    plan.count = 1;
    for (made& other : all.others) from.at(plan.count++) = &other;
    for (std::size_t i = 0; i < plan.count; ++i) plan.sizes[i] = detail::frame_of(*from[i]);
    arrange(plan, c.random());
    put_together(from, plan);
    return own;
  }

 private:
  void arrange(mosaic_plan& plan, random_stream& random) const;
  template <class T>
  void put_together(const std::array<T*, 4>& from, const mosaic_plan& plan) const {
    if constexpr (std::is_same_v<T, image>) {
      join_pictures(from.data(), plan);
    } else if constexpr (std::is_same_v<T, lazy_image>) {  // a field of a struct keeps its type
      image pixels[4];
      image* all[4] = {};
      for (std::size_t i = 0; i < plan.count; ++i) {
        pixels[i] = std::move(*from[i]).pixels();
        all[i] = &pixels[i];
      }
      join_pictures(all, plan);
      from[0]->replace_pixels(std::move(pixels[0]));
    } else if constexpr (std::is_same_v<T, mask>) {
      join_masks(from.data(), plan);
    } else if constexpr (std::is_same_v<T, boxes>) {
      boxes all;
      for (std::size_t i = 0; i < plan.count; ++i)
        place_tile(all, std::move(*from[i]), plan.where[i], plan.sizes[i]);
      *from[0] = std::move(all);
    } else {
      static_assert(
          !placed<T>,
          "wick: mosaic() puts pictures, masks and boxes together; depth maps, keypoints and polygons, "
          "and parts of your own, have no place in it: write with_others(3) | join(f)");
      static_assert(
          composite<T> || !holds<any_placed, T>(),
          "wick: mosaic() puts together the parts of tuples and structs; of a vector or an optional "
          "it is not known which belong together: write with_others(3) | join(f)");
      if constexpr (composite<T>) each_field(from, plan);
    }
  }
  template <class T>
  void each_field(const std::array<T*, 4>& from, const mosaic_plan& plan) const {
    detail::with_fields(*from[0], [&]<class... F>(F&...) {
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        (put_together(field_of_all<I, F>(from, plan.count), plan), ...);
      }(std::index_sequence_for<F...>{});
    });
  }
  template <std::size_t I, class F, class T>
  static std::array<F*, 4> field_of_all(const std::array<T*, 4>& from, std::size_t count) {
    std::array<F*, 4> out{};
    for (std::size_t i = 0; i < count; ++i)
      detail::with_fields(*from[i], [&](auto&... f) { out[i] = &std::get<I>(std::tie(f...)); });
    return out;
  }
  void join_pictures(image* const* from, const mosaic_plan& plan) const;
  void join_masks(mask* const* from, const mosaic_plan& plan) const;

  int size_;
  mosaic_options options_;
};

}  // namespace detail

/// Blends each image with another one of the epoch: share · own + (1 − share) · other, with the share drawn
/// from Beta(alpha, alpha). Labels are blended in the same way and become soft_label. Zhang et al.: "mixup:
/// Beyond Empirical Risk Minimization", 2018. torchvision.transforms.v2.MixUp works on a batch: the other is
/// the previous sample of the batch, and all samples have one share. Here, each sample draws its own other
/// and share, before batch(). The images must have one size by then, and 8-bit levels. Levels are rounded
/// to the nearest, so write to_float() and normalize() after mixup(). The other has its own random numbers:
/// it is cropped and flipped independently. \throws wick::error when there is less than 1 class, alpha isn't
/// above 0, or p isn't in [0, 1]
detail::chain<detail::with_others_stage, detail::mixed_pair_stage> mixup(std::size_t num_classes,
                                                                         const mixup_options& options = {});
/// Pastes a rectangle of another image of the epoch over each image, at the same place. Its area is drawn
/// from Beta(alpha, alpha), and the labels are weighted by the visible areas. Yun et al.: "CutMix:
/// Regularization Strategy to Train Strong Classifiers with Localizable Features", 2019.
/// torchvision.transforms.v2.CutMix, with the differences listed for mixup(). \throws wick::error as mixup()
/// does
detail::chain<detail::with_others_stage, detail::mixed_pair_stage> cutmix(std::size_t num_classes,
                                                                          const mixup_options& options = {});
/// Puts each image and three others of the epoch around a random point of a square of side
/// 2 · size, with their masks and boxes, which are moved and clipped; boxes of which nothing is left are
/// removed. Other parts are the sample's own. A random_crop(size) or resize(size) after it gives the size
/// that the model expects. Bochkovskiy, Wang, Liao: "YOLOv4", 2020; the point is drawn as in YOLOv5, from the
/// middle half of each side. \throws wick::error when size is less than 1 or more than 6,688, p isn't in
/// [0, 1], or fill isn't a level
detail::chain<detail::with_others_stage, detail::mosaic_stage> mosaic(int size,
                                                                      const mosaic_options& options = {});

}  // namespace wick
