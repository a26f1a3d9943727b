// Several crops of one image, which is decoded once: five_crop for tests, multi_crop for training on
// views.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include <wick/ext/fingerprint.hpp>
#include <wick/ext/stage.hpp>
#include <wick/image/detail/parts.hpp>
#include <wick/image/lazy_image.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/pipeline/detail/apply.hpp>
#include <wick/pipeline/pipeline.hpp>

namespace wick::inline v0_1 {

namespace detail {

/// A stage that takes an image alone; an item with other parts doesn't compile.
struct only_pictures {
  template <class Came, class...>
  static consteval bool check() {
    constexpr bool alone = !is_of_parts<any_placed, Came>;
    static_assert(
        alone,
        "wick: five_crop and multi_crop take a picture alone, and the item has a mask, boxes or other "
        "pictures, too; crop these by center_crop or random_crop, or leave them out before");
    return alone;
  }
};

class five_crop_stage : public only_pictures {
 public:
  static constexpr stage_traits traits{
      .name = "five_crop", .has_fingerprint = true, .has_check = true, .in_slot = slot_phase::resize};

  five_crop_stage(int height, int width);
  std::array<lazy_image, 5> operator()(lazy_image picture, context&) const;
  std::uint64_t fingerprint() const noexcept;

 private:
  int height_, width_;
};

/// Runs the stages on an image Count times; the results are an array.
template <std::size_t Count, class... Stages>
class views {
 public:
  explicit views(stage_list<Stages...> stages) : stages_(std::move(stages)) {}
  std::array<lazy_image, Count> of(lazy_image& picture, context& c) {
    return each(picture, c, std::make_index_sequence<Count>{});
  }
  std::uint64_t fingerprint() const {
    fingerprint_hash all;
    all.add(std::uint64_t{Count});
    for_each_stage(stages_, [&all]<class S>(const S& stage) {
      all.add(detail::stage_name(stage));
      if constexpr (traits_of<S>.has_fingerprint) all.add(std::uint64_t{stage.fingerprint()});
    });
    return all.value();
  }

 private:
  template <std::size_t... I>
  std::array<lazy_image, Count> each(lazy_image& picture, context& c, std::index_sequence<I...>) {
    return {(static_cast<void>(I), pass<0>(picture.share(), c))...};  // the braces fix the order
  }
  template <std::size_t I, class Item>
  lazy_image pass(Item item, context& c) {
    if constexpr (I == sizeof...(Stages)) {
      static_assert(std::is_constructible_v<lazy_image, Item>,
                    "wick: the stages given to multi_crop must give a picture back");
      return lazy_image(std::move(item));
    } else {
      using stage = std::tuple_element_t<I, std::tuple<Stages...>>;
      constexpr bool fits = way_of<stage, Item>() != way::none && !traits_of<stage>.has_attach;
      static_assert(fits, "wick: multi_crop takes stages of a picture: crops, flips, colors, callables");
      if constexpr (fits) {  // otherwise the lines below would cause more errors
        static_assert(!is_async<stage, Item>, "wick: no stage in multi_crop may suspend; write it before");
        return pass<I + 1>(detail::apply(get_stage<I>(stages_), std::move(item), c), c);
      }
    }
  }

  stage_list<Stages...> stages_;
};
template <std::size_t Count, class... Stages>
views<Count, Stages...> views_by(chain<Stages...> stages) {
  return views<Count, Stages...>(std::move(stages.stages));
}

template <class... Views>
class multi_crop_stage : public only_pictures {
 public:
  static constexpr stage_traits traits{
      .name = "multi_crop", .has_fingerprint = true, .has_check = true, .in_slot = slot_phase::resize};

  explicit multi_crop_stage(Views... each) : each_(std::move(each)...) {}
  auto operator()(lazy_image picture, context& c) {
    picture.carry_out();
    if constexpr (sizeof...(Views) == 1)
      return std::get<0>(each_).of(picture, c);
    else
      return std::apply([&](Views&... each) { return std::tuple{each.of(picture, c)...}; }, each_);
  }
  std::uint64_t fingerprint() const {
    return std::apply([](const Views&... each) { return fingerprint_hash::of(each.fingerprint()...); },
                      each_);
  }

 private:
  std::tuple<Views...> each_;
};

}  // namespace detail

/// Returns the four corners (upper left, upper right, lower left, lower right) and the middle, each height x
/// width px, as a std::array of 5 images; batch() makes 5 tensors from them.
/// torchvision.transforms.v2.FiveCrop. An image smaller than height x width px is an error of the sample.
detail::five_crop_stage five_crop(int height, int width);
detail::five_crop_stage five_crop(int size);

/// Makes Count views of each image, which is decoded once: `multi_crop<2>(random_resized_crop(224) |
/// color_jitter(0.4))` gives a std::array of 2 images, and `multi_crop<2, 6>(large, small)` gives a
/// std::tuple of two arrays. Each view draws its own random numbers. Caron et al., "Unsupervised Learning of
/// Visual Features by Contrasting Cluster Assignments", 2020.
template <std::size_t... Count, class... Stages>
  requires(sizeof...(Count) == sizeof...(Stages) && sizeof...(Count) > 0 && ((Count > 0) && ...))
auto multi_crop(Stages&&... stages) {
  return detail::multi_crop_stage(detail::views_by<Count>(detail::as_chain(std::forward<Stages>(stages)))...);
}

}  // namespace wick
