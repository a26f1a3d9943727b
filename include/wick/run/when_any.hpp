/// \file
/// Several things at once, and the first result: a hedged read, a timeout.
#pragma once

#include <cstddef>
#include <optional>
#include <stdexcept>
#include <utility>
#include <variant>
#include <vector>

#include <wick/run/awaitable.hpp>
#include <wick/run/detail/siblings.hpp>
#include <wick/run/stop_token.hpp>
#include <wick/run/task.hpp>

namespace wick::detail {

/// Which of several was first, and what it gave (std::monostate for void).
template <class T>
struct first_of {
  std::size_t index;
  T value;
};

/// Of the first that ends; the others' results are dropped.
template <class Result, class Make>
struct keep_first {
  siblings* group;
  std::optional<Result>* to;
  Make make;
  template <class U>
  void operator()(U&& value) const {
    if (!group->claim()) return;
    try {
      make(*to, std::forward<U>(value));
    } catch (...) {
      group->fail_first();
    }
    group->stop_others();
  }
};

template <std::size_t I>
struct emplace_alternative {
  template <class Result, class U>
  void operator()(std::optional<Result>& to, U&& value) const {
    to.emplace(std::in_place_index<I>, std::forward<U>(value));
  }
};

struct emplace_at {
  std::size_t index;
  template <class T, class U>
  void operator()(std::optional<first_of<T>>& to, U&& value) const {
    to.emplace(first_of<T>{index, T(std::forward<U>(value))});
  }
};

template <std::size_t... I, class... A>
task<std::variant<awaited_t<A>...>> any_of(std::index_sequence<I...>, stop_source* stop, A... a) {
  using result = std::variant<awaited_t<A>...>;
  std::optional<result> won;
  siblings group(sizeof...(A), stop);
  (group.add(std::move(a), keep_first<result, emplace_alternative<I>>{&group, &won, {}}), ...);
  co_await group.all();
  group.rethrow();
  co_return std::move(*won);
}

template <class T>
task<first_of<awaited_t<task<T>>>> any_of(stop_source* stop, std::vector<task<T>> tasks) {
  using result = first_of<awaited_t<task<T>>>;
  if (tasks.empty()) throw std::invalid_argument("wick: when_any of no tasks would never end");
  std::optional<result> won;
  siblings group(tasks.size(), stop);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    group.add(std::move(tasks[i]), keep_first<result, emplace_at>{&group, &won, {i}});
  }
  co_await group.all();
  group.rethrow();
  co_return std::move(*won);
}

/// A std::variant whose index() says which was first, and that holds what it gave (std::monostate for void):
///
///     wick::linked_stop_source stop(c.stop());
///     auto first = co_await wick::when_any(stop, download(url, stop.token()), wick::sleep_for(2s, {*c.on(),
///     stop.token()})); if (first.index() == 1) …   // too late
///
/// The first that ends decides, be it with a value or with an exception, which is thrown. It requests `stop`;
/// the losers are woken by their tokens with wick::cancelled, unwind, and are gone before the caller goes on.
/// What they give or throw is dropped. One that does not listen to the token is waited for. They are started
/// as by when_all, also those after one that has ended at once. What all of them wrote is visible to the
/// caller.
template <awaitable... A>
  requires(sizeof...(A) > 0)
task<std::variant<awaited_t<A>...>> when_any(stop_source& stop, A... awaitables) {
  return detail::any_of(std::index_sequence_for<A...>(), &stop, std::move(awaitables)...);
}

/// As many as there are at run time. \throws std::invalid_argument, when awaited, if there is none
template <class T>
task<first_of<awaited_t<task<T>>>> when_any(stop_source& stop, std::vector<task<T>> tasks) {
  return detail::any_of(&stop, std::move(tasks));
}

}  // namespace wick::detail
