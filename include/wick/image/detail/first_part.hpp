// The part of a sample that decode(), decode_mask(), to_image(), and to_mask() take: the first of its kind.
#pragma once

#include <array>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include <wick/pipeline/sample.hpp>

namespace wick::inline v0_1::detail {

struct still_bytes {
  template <class T>
  static constexpr bool is = std::is_same_v<T, bytes>;
};

template <class Kind, class T>
inline constexpr bool holds_first = Kind::template is<T>;
template <class Kind, class D, class T>
inline constexpr bool holds_first<Kind, sample<D, T>> = holds_first<Kind, D> || holds_first<Kind, T>;
template <class Kind, class... T>
inline constexpr bool holds_first<Kind, std::tuple<T...>> = (holds_first<Kind, T> || ...);

/// Whether the part is inside the item, so that with_first() must find it. False for the part itself, and for
/// a sample whose data has one: the stage is given the data.
template <class Kind, class T>
inline constexpr bool holds_behind = false;
template <class Kind, class D, class T>
inline constexpr bool holds_behind<Kind, sample<D, T>> = !holds_first<Kind, D> && holds_first<Kind, T>;
template <class Kind, class... T>
inline constexpr bool holds_behind<Kind, std::tuple<T...>> = holds_first<Kind, std::tuple<T...>>;

template <class Kind, class... T>
consteval std::size_t first_that_holds(std::type_identity<std::tuple<T...>>) {
  const std::array<bool, sizeof...(T)> has{holds_first<Kind, T>...};
  std::size_t i = 0;
  while (!has[i]) ++i;
  return i;
}

template <class Kind, bool Wanted, class T, class F>
auto with_first_if(T&& part, F& f);

/// The item, with its first part of this kind replaced by f's result.
template <class Kind, class Item, class F>
auto with_first(Item&& item, F&& f) {
  if constexpr (Kind::template is<Item>) {
    return f(std::move(item));
  } else if constexpr (is_sample<Item>) {
    constexpr bool in_data = holds_first<Kind, typename Item::data_type>;
    auto data = with_first_if<Kind, in_data>(std::move(item.data), f);
    auto target = with_first_if<Kind, !in_data>(std::move(item.target), f);
    return sample<decltype(data), decltype(target)>{std::move(data), std::move(target)};
  } else {
    constexpr std::size_t first = first_that_holds<Kind>(std::type_identity<Item>{});
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::tuple<decltype(with_first_if<Kind, I == first>(std::move(std::get<I>(item)), f))...>{
          with_first_if<Kind, I == first>(std::move(std::get<I>(item)), f)...};
    }(std::make_index_sequence<std::tuple_size_v<Item>>{});
  }
}

template <class Kind, bool Wanted, class T, class F>
auto with_first_if(T&& part, F& f) {
  if constexpr (Wanted)
    return with_first<Kind>(std::move(part), f);
  else
    return T(std::move(part));
}

}  // namespace wick::detail
