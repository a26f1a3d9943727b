// Awaiting several things at once for all of their results: reading the members of a record, asking three
// servers.
#pragma once

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <wick/async/detail/awaitable.hpp>
#include <wick/async/detail/resume.hpp>
#include <wick/async/executor.hpp>
#include <wick/async/task.hpp>
#include <wick/base/detail/owned.hpp>

namespace wick::inline v0_1 {

namespace detail {

/// Starts several awaitables at once, and resumes the waiting coroutine when the last has ended. It is in
/// that coroutine's frame. The last to end resumes the coroutine, and touches nothing of this afterwards.
class siblings {
 public:
  explicit siblings(std::size_t count) : nodes_(count) {}
  siblings(const siblings&) = delete;
  siblings& operator=(const siblings&) = delete;
  /// Drops the awaitables that weren't started (an allocation failed).
  ~siblings() {
    for (std::size_t i = 0; i < added_; ++i) {
      if (nodes_[i].handle) nodes_[i].handle.destroy();
    }
  }

  template <class A, class End>
  void add(A a, End end) {
    nodes_[added_].handle = run(this, std::move(a), std::move(end)).handle;
    ++added_;
  }

  void rethrow() {
    if (exception_) std::rethrow_exception(std::move(exception_));
  }

  /// `co_await s.all();` starts them one after the other, each up to its first suspension.
  class [[nodiscard]] all_awaiter {
   public:
    explicit all_awaiter(siblings& of) noexcept : of_(of) {}
    bool await_ready() const noexcept { return of_.added_ == 0; }
    [[gnu::noinline]] bool await_suspend(std::coroutine_handle<> parent) {
      of_.parent_.handle = parent;
      of_.running_.store(of_.added_ + 1, std::memory_order_relaxed);
      const std::size_t n = std::exchange(of_.added_, 0);  // from now on they free themselves
      for (std::size_t i = 0; i < n; ++i) resume_nested(of_.nodes_[i]);
      return of_.running_.fetch_sub(1, std::memory_order_acq_rel) != 1;
    }
    void await_resume() const noexcept {}

   private:
    siblings& of_;
  };
  all_awaiter all() noexcept { return all_awaiter(*this); }

 private:
  template <class A, class End>
  static detached run(siblings* self, A a, End end) {
    {
      std::optional<A> mine(
          std::move(a));  // gone before the waiter continues: it may refer to objects of the waiter
      try {
        if constexpr (std::is_void_v<await_result_t<A&&>>) {
          co_await std::move(*mine);
          end(std::monostate());
        } else {
          auto&& value = co_await std::move(*mine);
          end(std::forward<decltype(value)>(value));
        }
      } catch (...) {
        self->fail(std::current_exception());
      }
    }
    if (self->running_.fetch_sub(1, std::memory_order_acq_rel) == 1) resume_nested(self->parent_);
  }

  /// Keeps the first exception.
  void fail(std::exception_ptr e) noexcept {
    if (!failed_.exchange(true, std::memory_order_acq_rel)) exception_ = std::move(e);
  }

  const owned<resume_node[]> nodes_;
  std::size_t added_ = 0;
  resume_node parent_;
  std::atomic<std::size_t> running_{0};
  std::atomic<bool> failed_{false};
  std::exception_ptr exception_;
};

/// Stores a sibling's result.
template <class T>
struct keep {
  std::optional<T>* to;
  template <class U>
  void operator()(U&& value) const {
    to->emplace(std::forward<U>(value));
  }
};

template <std::size_t... I, class... A>
task<std::tuple<awaited_t<A>...>> all_of(std::index_sequence<I...>, A... a) {
  std::tuple<std::optional<awaited_t<A>>...> results;
  siblings group(sizeof...(A));
  (group.add(std::move(a), keep<awaited_t<A>>{&std::get<I>(results)}), ...);
  co_await group.all();
  group.rethrow();
  co_return std::tuple<awaited_t<A>...>(std::move(*std::get<I>(results))...);
}

template <class T>
using vector_of = std::conditional_t<std::is_void_v<T>, void, std::vector<awaited_t<task<T>>>>;

template <class T>
task<vector_of<T>> all_of(std::vector<task<T>> tasks) {
  std::vector<std::optional<awaited_t<task<T>>>> results(tasks.size());
  siblings group(tasks.size());
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

/// Awaits several things at once: `auto both = co_await when_all(f(x), g(y));` gives a std::tuple of their
/// results, with std::monostate for void, and values for references. Take it apart in a separate statement:
/// `auto& [a, b] = both;`.
///
/// Starts each awaitable here, one after the other, up to its first suspension. The caller continues where
/// the last one ended, after all have ended and are gone, even if some throw. Of several exceptions, the
/// first is thrown then. The awaitables' writes are visible to the caller.
template <detail::awaitable... A>
task<std::tuple<detail::awaited_t<A>...>> when_all(A... awaitables) {
  return detail::all_of(std::index_sequence_for<A...>(), std::move(awaitables)...);
}

/// The same for a number of tasks known at run time: gives a std::vector of the results in the order of the
/// tasks, or nothing for task<void>.
template <class T>
task<detail::vector_of<T>> when_all(std::vector<task<T>> tasks) {
  return detail::all_of(std::move(tasks));
}

namespace detail {

/// Runs `t` from its beginning on a worker of `ex`, which must outlive the task.
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
