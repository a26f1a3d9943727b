/// \file
/// Several things at once, and all of their results: reading the members of a record, asking three servers.
#pragma once

#include <cstddef>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <wick/async/detail/awaitable.hpp>
#include <wick/async/detail/siblings.hpp>
#include <wick/async/executor.hpp>
#include <wick/async/stop_token.hpp>
#include <wick/async/task.hpp>

namespace wick::inline v0_1 {

namespace detail {

/// Puts what a sibling gave where it belongs.
template <class T>
struct keep {
  std::optional<T>* to;
  template <class U>
  void operator()(U&& value) const {
    to->emplace(std::forward<U>(value));
  }
};

template <std::size_t... I, class... A>
task<std::tuple<awaited_t<A>...>> all_of(std::index_sequence<I...>, stop_source* stop, A... a) {
  std::tuple<std::optional<awaited_t<A>>...> results;
  siblings group(sizeof...(A), stop);
  (group.add(std::move(a), keep<awaited_t<A>>{&std::get<I>(results)}), ...);
  co_await group.all();
  group.rethrow();
  co_return std::tuple<awaited_t<A>...>(std::move(*std::get<I>(results))...);
}

template <class T>
using vector_of = std::conditional_t<std::is_void_v<T>, void, std::vector<awaited_t<task<T>>>>;

template <class T>
task<vector_of<T>> all_of(stop_source* stop, std::vector<task<T>> tasks) {
  std::vector<std::optional<awaited_t<task<T>>>> results(tasks.size());
  siblings group(tasks.size(), stop);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    group.add(std::move(tasks[i]), keep<awaited_t<task<T>>>{&results[i]});
  }
  co_await group.all();
  group.rethrow();
  if constexpr (!std::is_void_v<T>) {
    vector_of<T> out;
    out.reserve(results.size());
    for (auto& r : results) out.push_back(std::move(*r));
    co_return out;
  }
}

}  // namespace detail

/// Awaits several things at once: `auto both = co_await when_all(stop, f(x), g(y));` gives a std::tuple of
/// what they gave, std::monostate for void, values for references. Take it apart in a statement of its own:
/// `auto& [a, b] = both;`.
///
/// Each awaitable is started here, one after the other, up to its first suspension. The caller continues
/// where the last one ended, when all have ended and are gone, whatever happens. Of several exceptions the
/// first is thrown then. It also requests `stop`, so that siblings that wait with its token give up. Writes
/// of the siblings are visible to the caller.
template <detail::awaitable... A>
task<std::tuple<detail::awaited_t<A>...>> when_all(detail::stop_source& stop, A... awaitables) {
  return detail::all_of(std::index_sequence_for<A...>(), &stop, std::move(awaitables)...);
}
/// The same without a stop: an exception waits until the others have ended by themselves.
template <detail::awaitable... A>
task<std::tuple<detail::awaited_t<A>...>> when_all(A... awaitables) {
  return detail::all_of(std::index_sequence_for<A...>(), nullptr, std::move(awaitables)...);
}

/// As many as there are at run time: a std::vector of the results in the order of the tasks; nothing for
/// task<void>.
template <class T>
task<detail::vector_of<T>> when_all(detail::stop_source& stop, std::vector<task<T>> tasks) {
  return detail::all_of(&stop, std::move(tasks));
}
template <class T>
task<detail::vector_of<T>> when_all(std::vector<task<T>> tasks) {
  return detail::all_of<T>(nullptr, std::move(tasks));
}

namespace detail {

/// `t`, from its beginning on a worker of `ex`; it must outlive the task.
template <class T>
// NOLINTNEXTLINE(cppcoreguidelines-avoid-reference-coroutine-parameters): the lambda is the coroutine
task<T> starts_on(executor& ex, task<T> t) {
  return [](executor* on, task<T> inner) -> task<T> {
    co_await on->schedule();
    if constexpr (std::is_void_v<T>) {
      co_await inner;
    } else {
      decltype(auto) value = co_await inner;
      co_return std::forward<decltype(value)>(value);
    }
  }(&ex, std::move(t));
}

}  // namespace detail

}  // namespace wick
