#include <coroutine>
#include <string>
#include <thread>
#include <type_traits>
#include <variant>

#include "../support/doctest.hpp"
#include <wick/async/detail/awaitable.hpp>
#include <wick/async/executor.hpp>
#include <wick/async/sync_wait.hpp>
#include <wick/async/task.hpp>
#include <wick/async/when_all.hpp>

namespace wick_test::awaitable_tests {

using wick::task;
using wick::ext::sync_wait;

namespace {

/// What other libraries' awaiters look like: they know nothing of wick.
template <class Suspended>
struct foreign {
  int value;
  bool ready = false;
  std::thread* resumed_by = nullptr;
  bool await_ready() const noexcept { return ready; }
  Suspended await_suspend(std::coroutine_handle<> h) const {
    if constexpr (std::is_void_v<Suspended>)
      *resumed_by = std::thread([h] { h.resume(); });
    else if constexpr (std::is_same_v<Suspended, bool>)
      return false;
    else
      return h;
  }
  int await_resume() const noexcept { return value; }
};

struct with_member {
  foreign<bool> operator co_await() && noexcept { return {3}; }
};
struct with_free {};
foreign<std::coroutine_handle<>> operator co_await(with_free) noexcept { return {4}; }

template <class A>
task<int> await_it(A a) {
  const int value = co_await std::move(a);
  co_return value;
}

}  // namespace

TEST_CASE("a task awaits whatever await_suspend returns: nothing, bool or a handle") {
  std::thread by;
  CHECK(sync_wait(await_it(foreign<void>{1, false, &by})) == 1);  // resumed on a thread that wick never saw
  by.join();
  CHECK(sync_wait(await_it(foreign<bool>{2})) == 2);
  CHECK(sync_wait(await_it(foreign<std::coroutine_handle<>>{3})) == 3);
  CHECK(sync_wait(await_it(foreign<void>{4, true})) == 4);
}

TEST_CASE("a task awaits what has a member or a free operator co_await") {
  CHECK(sync_wait(await_it(with_member())) == 3);
  CHECK(sync_wait(await_it(with_free())) == 4);
}

TEST_CASE("when_all and sync_wait take them as they are") {
  const auto both = sync_wait(wick::when_all(with_member(), with_free(), std::suspend_never()));
  CHECK(std::get<0>(both) == 3);
  CHECK(std::get<1>(both) == 4);
  CHECK(sync_wait(with_free()) == 4);
  wick::executor ex(1);
  sync_wait(ex.schedule());
}

TEST_CASE("the concept tells what can be awaited, and the traits what that gives") {
  CHECK(wick::detail::awaitable<task<int>>);
  CHECK(wick::detail::awaitable<task<void>&>);
  CHECK(wick::detail::awaitable<with_member>);
  CHECK_FALSE(wick::detail::awaitable<with_member&>);
  CHECK(wick::detail::awaitable<with_free>);
  CHECK(wick::detail::awaitable<std::suspend_always>);
  CHECK_FALSE(wick::detail::awaitable<int>);
  CHECK_FALSE(wick::detail::awaitable<std::string>);
  CHECK(std::is_same_v<wick::detail::await_result_t<task<int&>>, int&>);
  CHECK(std::is_same_v<wick::detail::awaited_t<task<const int&>>, int>);
  CHECK(std::is_same_v<wick::detail::awaited_t<task<void>>, std::monostate>);
}

}  // namespace wick_test::awaitable_tests
