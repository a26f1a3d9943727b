#include <atomic>
#include <thread>
#include <vector>

#include "../support/doctest.hpp"
#include "support.hpp"
#include <wick/async/async_mutex.hpp>
#include <wick/async/detail/scope.hpp>
#include <wick/async/sync_wait.hpp>

using wick::async_mutex;
using wick::sync_wait;
using wick::task;
using wick::detail::environment;
using wick_test::eventually;
using wick_test::rounds;

TEST_CASE("one at a time is inside, also across suspensions, and each sees what the one before wrote") {
  wick::executor ex(4);
  async_mutex m;
  long sum = 0;  // plain: the mutex is what makes it safe
  int inside = 0, worst = 0;
  const auto add = [](wick::executor* on, async_mutex* mutex, long* to, int* in, int* most) -> task<void> {
    auto guard = co_await mutex->lock(*on);
    if (++*in > *most) *most = *in;
    const long before = *to;
    co_await on->schedule();
    *to = before + 1;
    --*in;
  };
  wick::detail::scope s(ex);
  const int n = rounds(20'000, 3'000);
  for (int i = 0; i < n; ++i) s.spawn(add(&ex, &m, &sum, &inside, &worst));
  s.wait();
  CHECK(sum == n);
  CHECK(worst == 1);
}

TEST_CASE("who waits longest is next") {
  wick::executor ex(1);
  async_mutex m;
  auto held = m.try_lock();
  REQUIRE(held);
  std::vector<int> order;
  const auto visit = [](async_mutex* mutex, environment env, std::vector<int>* to, int me) -> task<void> {
    auto guard = co_await mutex->lock(env);
    to->push_back(me);
  };
  wick::detail::scope s(ex);
  for (int i = 0; i < 100; ++i) s.spawn(visit(&m, s, &order, i));
  REQUIRE(eventually([&] { return ex.asleep() == 1; }));
  CHECK(order.empty());
  CHECK_FALSE(m.try_lock());
  held.unlock();
  s.wait();
  REQUIRE(order.size() == 100);
  for (int i = 0; i < 100; ++i) CHECK(order[static_cast<std::size_t>(i)] == i);
  CHECK(m.try_lock());
}

TEST_CASE("while many wait no worker is blocked") {
  wick::executor ex(1);
  async_mutex m;
  auto held = m.try_lock();
  wick::detail::scope s(ex);
  const auto visit = [](async_mutex* mutex, environment env) -> task<void> {
    auto guard = co_await mutex->lock(env);
  };
  for (int i = 0; i < 10; ++i) s.spawn(visit(&m, ex));
  const auto where = [](wick::executor* on) -> task<std::size_t> {
    co_await on->schedule();
    co_return on->this_slot();
  };
  CHECK(sync_wait(where(&ex)) == 0);  // the only worker is still there
  held.unlock();
  s.wait();
}

TEST_CASE("a stop calls off who waits, and the lock goes to the next") {
  wick::executor ex(2);
  async_mutex m;
  auto held = m.try_lock();
  wick::detail::stop_source stop;
  std::atomic<int> entered{0}, called_off{0};
  const auto visit = [](async_mutex* mutex, environment env, std::atomic<int>* in,
                        std::atomic<int>* off) -> task<void> {
    try {
      auto guard = co_await mutex->lock(env);
      in->fetch_add(1);
    } catch (const wick::cancelled&) {
      off->fetch_add(1);
    }
  };
  wick::detail::scope s(ex);
  for (int i = 0; i < 10; ++i) {
    s.spawn(visit(&m, {ex, i % 2 == 0 ? stop.token() : wick::stop_token()}, &entered, &called_off));
  }
  REQUIRE(eventually([&] { return ex.asleep() == 2; }));
  stop.request_stop();
  REQUIRE(eventually([&] { return called_off.load() == 5; }));
  CHECK(entered.load() == 0);
  held.unlock();
  s.wait();
  CHECK(entered.load() == 5);
}
