/// \file
/// How a stage is applied to an item: to the whole or to its data, with a context or without, now or awaited.
#pragma once

#include <concepts>
#include <string_view>
#include <type_traits>
#include <utility>

#include <wick/run/awaitable.hpp>
#include <wick/run/task.hpp>
#include <wick/sample/context.hpp>
#include <wick/sample/sample.hpp>
#include <wick/sample/stage.hpp>

namespace wick::detail {

// ---- awaiting ----

template <class A>
struct awaited {
  using type = A;
};
template <awaitable A>
struct awaited<A> {
  using type = await_result_t<A>;
};
/// What `co_await` gives of an awaitable; the type itself for anything else.
template <class R>
using value_once_awaited_t = typename awaited<R>::type;

// ---- calling ----

template <class S, class X>
concept applied_by_adl = requires(S& s, X&& x, context& c) { apply_stage(s, std::forward<X>(x), c); };

template <class R>
concept gives_nothing = std::is_void_v<value_once_awaited_t<R>>;

/// The stage can be given an X for good: by value, const reference or rvalue. What gives nothing back must
/// take it by reference or as a copy too, since the item goes on afterwards.
template <class S, class X, class... Context>
concept takes_over =
    std::is_invocable_v<S&, X, Context...> &&
    (!gives_nothing<std::invoke_result_t<S&, X, Context...>> || std::is_invocable_v<S&, X&, Context...>);

/// The stage can be called with an X, as above or (to change it in place) by reference.
template <class S, class X>
concept takes = applied_by_adl<S, X> || takes_over<S, X, context&> || takes_over<S, X> ||
                std::is_invocable_v<S&, X&, context&> || std::is_invocable_v<S&, X&>;

/// Calls it. What returns nothing (or a task of nothing) is called with the item itself, which goes on
/// afterwards.
template <class S, class X>
decltype(auto) call(S& s, X& x, context& c) {
  if constexpr (applied_by_adl<S, X>) {
    return apply_stage(s, std::move(x), c);
  } else if constexpr (takes_over<S, X, context&>) {
    if constexpr (gives_nothing<std::invoke_result_t<S&, X, context&>>)
      return s(x, c);
    else
      return s(std::move(x), c);
  } else if constexpr (takes_over<S, X>) {
    if constexpr (gives_nothing<std::invoke_result_t<S&, X>>)
      return s(x);
    else
      return s(std::move(x));
  } else if constexpr (std::is_invocable_v<S&, X&, context&>) {
    return s(x, c);
  } else {
    return s(x);
  }
}
template <class S, class X>
using raw_result = decltype(call(std::declval<S&>(), std::declval<X&>(), std::declval<context&>()));

// ---- lazy values ----

/// A value that stands for another not yet made (a picture not yet decoded): a stage that wants the other
/// gets it.
template <class T>
concept lazy = requires(T t) {
  typename T::materialized_type;
  { std::move(t).materialize() } -> std::same_as<typename T::materialized_type>;
};
template <class T>
struct materialized {
  using type = T;
  static T make(T&& t) { return std::move(t); }
};
template <>
struct materialized<void> {
  using type = void;
};
template <lazy T>
struct materialized<T> {
  using type = typename T::materialized_type;
  static type make(T&& t) { return std::move(t).materialize(); }
};
template <lazy D, class T>
struct materialized<sample<D, T>> {
  using type = sample<typename D::materialized_type, T>;
  static type make(sample<D, T>&& s) { return {std::move(s.data).materialize(), std::move(s.target)}; }
};
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

template <class S, class Item>
consteval way way_of() {
  using data = typename data_of<Item>::type;
  constexpr bool on_whole = !stage_of<S, on_data> || !is_sample<Item>;
  if constexpr (on_whole && takes<S, Item>)
    return way::whole;
  else if constexpr (is_sample<Item> && !stage_of<S, on_sample> && takes<S, data>)
    return way::data;
  else if constexpr (on_whole && takes<S, materialized_t<Item>>)
    return way::materialized_whole;
  else if constexpr (is_sample<Item> && !stage_of<S, on_sample> && takes<S, materialized_t<data>>) {
    return way::materialized_data;
  } else {
    return way::none;
  }
}

template <class R, class Item>
using or_item = std::conditional_t<std::is_void_v<R>, Item, std::remove_cvref_t<R>>;

/// What stage S makes of an Item: `argument` is what it is called with, `raw` what it returns, `type` the
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

/// Puts a stage's result in the place of what it was called with.
template <class Next, class Item, class R>
Next rebuild(Item&& item, R&& result) {
  if constexpr (std::is_same_v<Next, std::remove_cvref_t<R>>) {
    return std::forward<R>(result);
  } else {
    return Next{std::forward<R>(result), std::move(item.target)};
  }
}

/// Applies a stage that does not suspend.
template <class S, class Item>
next_item<S, Item> apply(S& s, Item&& item, context& c) {
  using how = application<S, std::remove_cvref_t<Item>>;
  using next = typename how::type;
  decltype(auto) prepared = how::prepare(std::move(item));
  if constexpr (std::is_void_v<typename how::raw>) {
    call(s, how::argument(prepared), c);
    return next(std::move(prepared));
  } else {
    return rebuild<next>(std::move(prepared), call(s, how::argument(prepared), c));
  }
}

/// Applies one that does.
template <class S, class Item>
task<next_item<S, Item>> apply_async(S* s, Item item, context* c) {
  using how = application<S, Item>;
  using next = typename how::type;
  auto prepared = how::prepare(std::move(item));
  auto operation = call(*s, how::argument(prepared), *c);
  if constexpr (std::is_void_v<value_once_awaited_t<typename how::raw>>) {
    co_await std::move(operation);
    co_return next(std::move(prepared));
  } else {
    auto result = co_await std::move(operation);
    co_return rebuild<next>(std::move(prepared), std::move(result));
  }
}

template <class S>
std::string_view stage_name(const S& s) noexcept {
  if constexpr (has_hook<S, hook::label>)
    return s.label();
  else
    return S::name;
}

}  // namespace wick::detail
