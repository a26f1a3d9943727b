// From ordinary code into coroutines: start a task and sleep until it is done.
#pragma once

#include <type_traits>
#include <utility>

#include <wick/async/detail/awaitable.hpp>
#include <wick/async/detail/outcome.hpp>
#include <wick/async/task.hpp>
#include <wick/base/detail/futex.hpp>

namespace wick::inline v0_1 {

namespace detail {

template <class T>
struct sync_state {
  wake_flag done;
  outcome<T> result;
};

template <class T>
detached sync_run(task<void> settling, sync_state<T>* state) {
  {
    const task<void> all = std::move(settling);  // gone before the waiting thread is woken
    co_await all;
  }
  state->done.set();  // the waiting thread may leave at once: nothing of `state` is touched after this
}

}  // namespace detail

namespace ext {

/// Runs `t` on this thread up to its first suspension and sleeps until it has ended elsewhere; returns its
/// value or throws its exception. By then the task's writes are visible, and its frame is gone, parameters
/// included. Call it on any thread except a worker, which it would block. If the task is never resumed, the
/// call never returns.
template <class T>
T sync_wait(task<T> t) {
  static_assert(!std::is_reference_v<T>,
                "wick: sync_wait gives back values; return a pointer or a std::reference_wrapper");
  detail::sync_state<T> state;
  task<void> settling =
      detail::settle(std::move(t), &state.result);  // here, where the caller gets std::bad_alloc
  detail::resume(detail::sync_run<T>(std::move(settling), &state).handle);
  state.done.wait();
  return state.result.take();
}

/// The same for anything that can be awaited.
template <detail::awaitable A>
  requires(!detail::is_task<A>)
auto sync_wait(A what) {
  using result = std::remove_cvref_t<detail::await_result_t<A>>;
  return sync_wait([](A inner) -> task<result> {
    if constexpr (std::is_void_v<result>) {
      co_await std::move(inner);
    } else {
      auto&& value = co_await std::move(inner);
      co_return std::forward<decltype(value)>(value);
    }
  }(std::move(what)));
}

}  // namespace ext

namespace detail {
using namespace ext;
}  // namespace detail

}  // namespace wick
