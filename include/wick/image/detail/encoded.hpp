/// \file
/// Which part of a sample decode() and decode_mask() take: the first that is still bytes.
#pragma once

#include <array>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include <wick/sample/sample.hpp>

namespace wick::detail {

template <class T>
inline constexpr bool holds_bytes = std::is_same_v<T, bytes>;
template <class D, class T>
inline constexpr bool holds_bytes<sample<D, T>> = holds_bytes<D> || holds_bytes<T>;
template <class... T>
inline constexpr bool holds_bytes<std::tuple<T...>> = (holds_bytes<T> || ...);

/// Taken as a whole; where a sample's data has bytes, the stage is given that.
template <class T>
inline constexpr bool holds_more_bytes = false;
template <class D, class T>
inline constexpr bool holds_more_bytes<sample<D, T>> = !holds_bytes<D> && holds_bytes<T>;
template <class... T>
inline constexpr bool holds_more_bytes<std::tuple<T...>> = holds_bytes<std::tuple<T...>>;

template <class... T>
consteval std::size_t first_with_bytes(std::type_identity<std::tuple<T...>>) {
  const std::array<bool, sizeof...(T)> has{holds_bytes<T>...};
  std::size_t i = 0;
  while (!has[i]) ++i;
  return i;
}

template <bool Wanted, class T, class F>
auto with_first_bytes_if(T&& part, F& f);

/// The item with what f makes of its first bytes in their place.
template <class Item, class F>
auto with_first_bytes(Item&& item, F&& f) {
  if constexpr (std::is_same_v<Item, bytes>) {
    return f(std::move(item));
  } else if constexpr (is_sample<Item>) {
    constexpr bool in_data = holds_bytes<typename Item::data_type>;
    auto data = with_first_bytes_if<in_data>(std::move(item.data), f);
    auto target = with_first_bytes_if<!in_data>(std::move(item.target), f);
    return sample<decltype(data), decltype(target)>{std::move(data), std::move(target)};
  } else {
    constexpr std::size_t first = first_with_bytes(std::type_identity<Item>{});
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::tuple<decltype(with_first_bytes_if<I == first>(std::move(std::get<I>(item)), f))...>{
          with_first_bytes_if<I == first>(std::move(std::get<I>(item)), f)...};
    }(std::make_index_sequence<std::tuple_size_v<Item>>{});
  }
}

template <bool Wanted, class T, class F>
auto with_first_bytes_if(T&& part, F& f) {
  if constexpr (Wanted)
    return with_first_bytes(std::move(part), f);
  else
    return T(std::move(part));
}

}  // namespace wick::detail
