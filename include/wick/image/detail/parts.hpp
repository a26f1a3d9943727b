// How the parts of a sample (image, mask, boxes, keypoints) go through geometry and color stages: a stage
// decides once, and applies that to each part that it affects.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <wick/batch/detail/fields.hpp>
#include <wick/ext/stage.hpp>
#include <wick/image/detail/steps.hpp>
#include <wick/image/lazy_image.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/pipeline/detail/apply.hpp>
#include <wick/pipeline/detail/phases.hpp>
#include <wick/pipeline/sample.hpp>
#include <wick/pixels/geometry.hpp>
#include <wick/pixels/image.hpp>

namespace wick::inline v0_1::detail {

// ---- parts with a place ----

/// A user's type takes part through a member function.
template <class T>
  requires requires(T& part, const geometry_step& step, frame in) { part.follow(step, in); }
void follow(T& part, const geometry_step& step, frame in) {
  part.follow(step, in);
}
/// A part with a place in the image: it follows the image's geometry.
template <class T>
concept placed = requires(T& part, const geometry_step& step, frame in) { follow(part, step, in); };
/// It has pixels; their size is the sample's.
template <class T>
concept with_pixels = std::is_same_v<T, image> || (placed<T> && requires(const T& part) {
                        part.width();
                        part.height();
                      });
template <class T>
concept colored = std::is_same_v<T, image> || std::is_same_v<T, lazy_image>;

struct any_placed {
  template <class T>
  static constexpr bool is = placed<T> || std::is_same_v<T, image>;
};
struct any_with_pixels {
  template <class T>
  static constexpr bool is = with_pixels<T>;
};
/// It records the visible fraction of each of its items.
struct any_with_visible {
  template <class T>
  static constexpr bool is = placed<T> && requires(T& part) { part.fill_visible(); };
};
struct any_colored {
  template <class T>
  static constexpr bool is = colored<T>;
};

/// A plain struct that can't be decomposed: parts inside it would silently be skipped.
template <class T>
inline constexpr bool closed_struct = std::is_class_v<T> && std::is_aggregate_v<T> && !std::is_empty_v<T> &&
                                      !leaf<T> && !composite<T> && !container_like<T> && !has_no_parts<T>;

/// Whether T, or anything inside it at any depth, is of this kind.
template <class Kind, class T>
consteval bool holds() {
  if constexpr (Kind::template is<T>) {
    return true;
  } else if constexpr (any_placed::is<T> || has_no_parts<T>) {
    return false;
  } else if constexpr (composite<T>) {
    return []<class... F>(std::type_identity<std::tuple<F...>>) {
      return (holds<Kind, F>() || ...);
    }(std::type_identity<typename field_types<T>::type>{});
  } else if constexpr (container_like<T> || optional_like<T>) {
    return holds<Kind, typename T::value_type>();
  } else {
    constexpr bool open = !closed_struct<T>;
    static_assert(
        open,
        "wick: this stage looks for pictures, masks, boxes and keypoints in all of a sample, and can't "
        "look into this struct (T, in the lines beside this): it has more than 8 fields, or a base "
        "class; nest plain structs in it, or, where it has no such part, write `template <> inline "
        "constexpr bool wick::ext::has_no_parts<T> = true;`");
    return false;
  }
}

/// Calls f with each part of this kind. A wick::image is passed as a lazy image.
template <class Kind, class T, class F>
void for_each_part(T& item, F& f) {
  if constexpr (std::is_same_v<T, image>) {
    if constexpr (Kind::template is<T>) {
      lazy_image picture(std::move(item));
      f(picture);
      item = std::move(picture).materialize();
    }
  } else if constexpr (Kind::template is<T>) {
    f(item);
  } else if constexpr (holds<Kind, T>()) {
    detail::for_each_inside(item, [&f](auto& inner) { for_each_part<Kind>(inner, f); });
  }
}

/// Turns a wick::image into a lazy image, which may become float32.
template <class T>
struct lazy_part {
  using type = T;
  static T make(T&& t) { return std::move(t); }
};
template <>
struct lazy_part<image> {
  using type = lazy_image;
  static lazy_image make(image&& pixels) { return lazy_image(std::move(pixels)); }
};

/// Whether a stage takes the item as a whole: its parts belong together, or it's a part but not an image. For
/// a sample<> whose target has no such part, the stage takes its data.
template <class Kind, class T>
inline constexpr bool is_of_parts =
    !std::is_same_v<T, lazy_image> && !std::is_same_v<T, image> && !closed_struct<T> && holds<Kind, T>();
template <class Kind, class D, class T>
inline constexpr bool is_of_parts<Kind, sample<D, T>> = holds<Kind, T>();

// ---- geometry ----

/// \throws wick::error when the image has no pixels
void require_pixels(frame size);
/// \throws wick::error when a step makes more pixels than decode() accepts, or resizes a side of over 2^20
/// px, whose tables would take seconds and gigabytes
void require_bounded(const geometry_step& step, frame before);
/// \throws wick::error when parts with pixels differ in size
void require_one_size(frame first, frame other);

template <class Item>
frame frame_of(Item& item) {
  frame size;
  bool any = false;
  const auto look = [&](const auto& part) {
    const frame here{part.width(), part.height()};
    if (any) require_one_size(size, here);
    size = here;
    any = true;
  };
  const auto visit = [&look]<class T>(const auto& self, T& part) -> void {
    if constexpr (with_pixels<T>)
      look(part);
    else if constexpr (holds<any_with_pixels, T>())
      detail::for_each_inside(part, [&self](auto& inner) { self(self, inner); });
  };
  visit(visit, item);
  return size;
}

/// Every geometry stage calls this first, even if it leaves the image unchanged, so that all of a batch's
/// samples have visible fractions.
template <class Item>
void fill_visible(Item& item) {
  const auto fill = [](auto& part) { part.fill_visible(); };
  for_each_part<any_with_visible>(item, fill);
}

/// A geometry stage. `Stage` has `geometry_steps decide(frame, context&) const`, which makes the random
/// draws, once a sample.
template <class Stage>
class geometry_stage {
 public:
  lazy_image operator()(lazy_image picture, context& c) const {
    frame size{picture.width(), picture.height()};
    require_pixels(size);
    for (const geometry_step& step : self().decide(size, c)) {
      require_bounded(step, size);
      picture.follow(step);
      size = step.after(size);
    }
    return picture;
  }
  template <class Item>
    requires(is_of_parts<any_placed, Item> && holds<any_with_pixels, Item>())
  Item operator()(Item item, context& c) const {
    frame size = detail::frame_of(item);
    require_pixels(size);
    detail::fill_visible(item);
    for (const geometry_step& step : self().decide(size, c)) {
      require_bounded(step, size);
      const auto move = [&](auto& part) { follow(part, step, size); };
      for_each_part<any_placed>(item, move);
      size = step.after(size);
    }
    return item;
  }

 private:
  const Stage& self() const noexcept { return static_cast<const Stage&>(*this); }
};

// ---- color ----

/// A color stage. `Stage` has `draw(context&) const`, which makes the random draws, and `apply(lazy_image&,
/// drawn) const`.
template <class Stage>
class color_stage {
 public:
  lazy_image operator()(lazy_image picture, context& c) const {
    const auto& drawn = self().draw(c);
    if (picture.color_stages()) self().apply(picture, drawn);
    return picture;
  }
  template <class Item>
    requires is_of_parts<any_colored, Item>
  auto operator()(Item item, context& c) const {
    auto out = in_parts<lazy_part, Item>::make(std::move(item));
    const auto drawn = self().draw(c);
    const auto apply = [&](lazy_image& picture) {
      if (picture.color_stages()) self().apply(picture, drawn);
    };
    for_each_part<any_colored>(out, apply);
    return out;
  }

 private:
  const Stage& self() const noexcept { return static_cast<const Stage&>(*this); }
};

}  // namespace wick::detail
