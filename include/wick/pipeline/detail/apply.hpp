// How a stage is applied to an item: to all of it or to its data, with or without a context, directly or
// awaited.
#pragma once

#include <concepts>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <wick/async/detail/awaitable.hpp>
#include <wick/async/task.hpp>
#include <wick/ext/stage.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/pipeline/detail/calling.hpp>
#include <wick/pipeline/sample.hpp>

namespace wick::inline v0_1::detail {

// ---- calling ----

/// The object to call: for a stage that only carries a callable, the callable.
template <class S>
struct callee {
  using type = S;
  static S& of(S& s) noexcept { return s; }
};
template <class S>
  requires(traits_of<S>.has_callable)
struct callee<S> {
  using type = typename S::callable_type;
  static type& of(S& s) noexcept { return s.callable(); }
};
template <class S, class X>
decltype(auto) call(S& s, X& x, context& c) {
  return detail::call_with(callee<S>::of(s), x, c);
}
template <class S, class X>
using raw_result = decltype(detail::call(std::declval<S&>(), std::declval<X&>(), std::declval<context&>()));

// ---- lazy values ----

/// A value that stands for one that isn't made yet (an image that isn't decoded yet): a stage that wants that
/// one gets it.
template <class T>
concept lazy = requires(T t) {
  typename T::materialized_type;
  { std::move(t).materialize() } -> std::same_as<typename T::materialized_type>;
};
/// Maps a value, or each part of a sample<> or tuple, with Map<part>: `type`, and make(part).
template <template <class> class Map, class T>
struct in_parts : Map<T> {};
template <template <class> class Map, class D, class T>
struct in_parts<Map, sample<D, T>> {
  using type = sample<typename in_parts<Map, D>::type, typename in_parts<Map, T>::type>;
  static type make(sample<D, T>&& s) {
    return {in_parts<Map, D>::make(std::move(s.data)), in_parts<Map, T>::make(std::move(s.target))};
  }
};
template <template <class> class Map, class... T>
struct in_parts<Map, std::tuple<T...>> {
  using type = std::tuple<typename in_parts<Map, T>::type...>;
  static type make(std::tuple<T...>&& parts) {
    return std::apply([](T&... part) { return type{in_parts<Map, T>::make(std::move(part))...}; }, parts);
  }
};

template <class T>
struct materialized_part {
  using type = T;
  static T make(T&& t) { return std::move(t); }
};
template <>
struct materialized_part<void> {
  using type = void;
};
template <lazy T>
struct materialized_part<T> {
  using type = typename T::materialized_type;
  static type make(T&& t) { return std::move(t).materialize(); }
};
template <class T>
using materialized = in_parts<materialized_part, T>;
template <class T>
using materialized_t = typename materialized<T>::type;

// ---- choosing ----

enum class way { none, whole, data, materialized_whole, materialized_data };

template <class Item>
struct data_of {
  using type = void;
};
template <class D, class T>
struct data_of<sample<D, T>> {
  using type = D;
};

/// A stage isn't tried with items that it isn't meant for: no stage takes void.
template <class S, class Item>
consteval way way_of() {
  using callable = typename callee<S>::type;
  constexpr bool on_whole = !stage_of<S, stage_kind::data> || !is_sample<Item>;
  using whole = std::conditional_t<on_whole, Item, void>;
  using data = std::conditional_t<!stage_of<S, stage_kind::sample>, typename data_of<Item>::type, void>;
  if constexpr (form_of<callable, whole>() != form::none)
    return way::whole;
  else if constexpr (form_of<callable, data>() != form::none)
    return way::data;
  else if constexpr (form_of<callable, materialized_t<whole>>() != form::none)
    return way::materialized_whole;
  else if constexpr (form_of<callable, materialized_t<data>>() != form::none)
    return way::materialized_data;
  else
    return way::none;
}

/// The type that a stage is called with, for each way.
template <class Item, way W>
struct argument_by {
  using type = Item;
};
template <class Item>
struct argument_by<Item, way::data> {
  using type = typename data_of<Item>::type;
};
template <class Item>
struct argument_by<Item, way::materialized_whole> {
  using type = materialized_t<Item>;
};
template <class Item>
struct argument_by<Item, way::materialized_data> {
  using type = materialized_t<typename data_of<Item>::type>;
};

template <class R, class Item>
using or_item = std::conditional_t<std::is_void_v<R>, Item, std::remove_cvref_t<R>>;

/// How stage S is applied to an Item: `argument` is what it is called with, `raw` what it returns, `type` the
/// next item.
template <class S, class Item, way W = way_of<S, Item>()>
struct application;
template <class S, class Item>
struct application<S, Item, way::none> {
  using type = void;
  static constexpr bool async = false;
};
template <class S, class Item>
struct application<S, Item, way::whole> {
  using raw = raw_result<S, Item>;
  static constexpr bool async = awaitable<raw>;
  using type = or_item<value_once_awaited_t<raw>, Item>;
  static Item prepare(Item&& item) { return std::move(item); }
  static Item& argument(Item& item) { return item; }
};
template <class S, class Item>
struct application<S, Item, way::data> {
  using raw = raw_result<S, typename Item::data_type>;
  static constexpr bool async = awaitable<raw>;
  using type =
      sample<or_item<value_once_awaited_t<raw>, typename Item::data_type>, typename Item::target_type>;
  static Item prepare(Item&& item) { return std::move(item); }
  static typename Item::data_type& argument(Item& item) { return item.data; }
};
template <class S, class Item>
struct application<S, Item, way::materialized_whole> : application<S, materialized_t<Item>, way::whole> {
  static materialized_t<Item> prepare(Item&& item) { return materialized<Item>::make(std::move(item)); }
};
template <class S, class Item>
struct application<S, Item, way::materialized_data> : application<S, materialized_t<Item>, way::data> {
  static materialized_t<Item> prepare(Item&& item) { return materialized<Item>::make(std::move(item)); }
};

template <class S, class Item>
using next_item = typename application<S, Item>::type;
template <class S, class Item>
inline constexpr bool is_async = application<S, Item>::async;

/// Replaces what a stage was called with by the stage's result.
template <class Next, class Item, class R>
Next rebuild(Item&& item, R&& result) {
  if constexpr (std::is_same_v<Next, std::remove_cvref_t<R>>) {
    return std::forward<R>(result);
  } else {
    return Next{std::forward<R>(result), std::move(item.target)};
  }
}

/// Applies a stage that doesn't suspend.
template <class S, class Item>
next_item<S, Item> apply(S& s, Item&& item, context& c) {
  using how = application<S, std::remove_cvref_t<Item>>;
  using next = typename how::type;
  decltype(auto) prepared = how::prepare(std::move(item));
  if constexpr (std::is_void_v<typename how::raw>) {
    detail::call(s, how::argument(prepared), c);
    return next(std::move(prepared));
  } else {
    return detail::rebuild<next>(std::move(prepared), detail::call(s, how::argument(prepared), c));
  }
}

template <class S>
std::string_view stage_name(const S& s) noexcept {
  if constexpr (traits_of<S>.has_label)
    return s.label();
  else
    return traits_of<S>.name;
}

}  // namespace wick::detail
