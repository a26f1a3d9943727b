#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "../support/doctest.hpp"
#include "support.hpp"
#include <wick/async/async_semaphore.hpp>
#include <wick/async/detail/scope.hpp>
#include <wick/async/sync_wait.hpp>

namespace wick_test::async_semaphore_tests {

using wick::async_semaphore;
using wick::task;
using wick::ext::environment;
using wick::ext::sync_wait;
using wick_test::eventually;
using wick_test::rounds;

namespace {

/// Takes n, notes that in `order`, and gives them back.
task<void> visit(async_semaphore* s, environment env, std::size_t n, std::vector<int>* order, int me) {
  auto held = co_await s->acquire(env, n);
  order->push_back(me);
}

/// Counts "cancelled" instead of throwing it.
task<void> try_to(async_semaphore* s, environment env, std::size_t n, std::atomic<int>* got,
                  std::atomic<int>* called_off) {
  try {
    auto held = co_await s->acquire(env, n);
    got->fetch_add(static_cast<int>(held.count()));
  } catch (const wick::cancelled&) {
    called_off->fetch_add(1);
  }
}

}  // namespace

TEST_CASE("never more permits are out than there are, however many each task takes, and all come back") {
  wick::executor ex(4);
  async_semaphore s(5);
  std::atomic<int> out{0}, most{0};
  const auto use = [](wick::executor* on, async_semaphore* of, std::size_t n, std::atomic<int>* o,
                      std::atomic<int>* m) -> task<void> {
    auto held = co_await of->acquire(*on, n);
    const int now = o->fetch_add(static_cast<int>(n)) + static_cast<int>(n);
    int seen = m->load();
    while (seen < now && !m->compare_exchange_weak(seen, now)) {
    }
    co_await on->schedule();
    o->fetch_sub(static_cast<int>(n));
  };
  wick::detail::scope in(ex);
  const int n = rounds(20'000, 3'000);
  for (int i = 0; i < n; ++i) in.spawn(use(&ex, &s, static_cast<std::size_t>(i % 6), &out, &most));
  in.wait();
  CHECK(most.load() <= 5);
  CHECK(most.load() > 1);
  CHECK(s.available() == 5);
}

TEST_CASE(
    "the first waiter is served first, and one that wants many is not overtaken by waiters that want few") {
  wick::executor ex(1);
  async_semaphore s(3);
  auto all = s.try_acquire(3);
  REQUIRE(all);
  std::vector<int> order;
  wick::detail::scope in(ex);
  const std::size_t wanted[] = {1, 3, 1, 2, 1};
  for (int i = 0; i < 5; ++i) in.spawn(visit(&s, in, wanted[i], &order, i));
  REQUIRE(eventually([&] { return ex.asleep() == 1; }));  // all of them wait
  CHECK_FALSE(s.try_acquire(1));
  s.release(2);  // two new ones: the first goes, gives its one back, and the second still has only two
  REQUIRE(eventually([&] { return ex.asleep() == 1 && s.available() == 2; }));
  CHECK(order == std::vector<int>{0});
  CHECK_FALSE(s.try_acquire(1));  // it would overtake
  s.release(1);
  in.wait();
  CHECK(order == std::vector<int>{0, 1, 2, 3, 4});
  CHECK(all.forget() == 3);
  CHECK(s.available() == 3);
}

TEST_CASE(
    "permits give themselves back once, when they die, are reset or are assigned to; forgotten ones don't") {
  async_semaphore s(4);
  {
    auto a = s.try_acquire(1);
    auto b = s.try_acquire(2);
    CHECK(s.available() == 1);
    a = std::move(b);
    CHECK(a.count() == 2);
    CHECK(s.available() == 2);
    a.reset();
    a.reset();
    CHECK(s.available() == 4);
    auto c = s.try_acquire(4);
    CHECK_FALSE(s.try_acquire(1));
    CHECK(c.forget() == 4);
  }
  CHECK(s.available() == 0);
  s.release(4);
  CHECK(s.available() == 4);
  CHECK(s.try_acquire(0));
}

TEST_CASE("a stop wakes the waiter, takes nothing, and lets the waiters after it continue") {
  wick::executor ex(2);
  async_semaphore s(2);
  wick::detail::stop_source stop;
  std::atomic<int> got{0}, called_off{0};
  auto one = s.try_acquire(1);
  wick::detail::scope in(ex);
  in.spawn(try_to(&s, {ex, stop.token()}, 2, &got, &called_off));  // holds up the next one
  REQUIRE(eventually([&] { return !s.try_acquire(0); }));
  in.spawn(try_to(&s, ex, 1, &got, &called_off));
  REQUIRE(eventually([&] { return ex.asleep() == 2; }));
  CHECK(got.load() == 0);
  stop.request_stop();
  in.wait();
  CHECK(called_off.load() == 1);
  CHECK(got.load() == 1);
  one.reset();
  CHECK(s.available() == 2);
}

TEST_CASE("a task that was stopped before gets nothing, though permits are free") {
  wick::executor ex(1);
  async_semaphore s(1);
  wick::detail::stop_source stop;
  stop.request_stop();
  std::atomic<int> got{0}, called_off{0};
  sync_wait(try_to(&s, {ex, stop.token()}, 1, &got, &called_off));
  CHECK(called_off.load() == 1);
  CHECK(s.available() == 1);
}

TEST_CASE(
    "whatever stops, releases and acquisitions meet, each waiter is either served or called off, and none is "
    "lost") {
  wick::executor ex(4);
  std::uint32_t random = 12345;
  int served = 0, off = 0;
  for (int round = 0; round < rounds(400, 60); ++round) {
    auto s = std::make_unique<async_semaphore>(0);
    wick::detail::stop_source stops[4];
    std::atomic<int> got{0}, called_off{0};
    constexpr int n = 24;
    int wanted = 0;
    if (round % 5 == 0) stops[0].request_stop();  // so that each thing happens, whatever the timing
    {
      wick::detail::scope in(ex);
      for (int i = 0; i < n; ++i) {
        random = random * 1664525u + 1013904223u;
        const std::size_t take = 1 + (random >> 30);
        wanted += static_cast<int>(take);
        in.spawn(try_to(s.get(), {ex, stops[(random >> 20) & 3].token()}, take, &got, &called_off));
      }
      std::thread stopper([&] {
        for (int i = 0; i < 3; ++i) stops[i].request_stop();
      });
      for (int i = 0; i < wanted; ++i) s->release();
      stopper.join();
      in.wait();
    }
    CHECK(s->available() == static_cast<std::size_t>(wanted));  // all came back
    s.reset();                                                  // at once: no thread may still touch it
    served += got.load();
    off += called_off.load();
  }
  CHECK(served > 0);
  CHECK(off > 0);
}

TEST_CASE("a coroutine that was served may destroy the semaphore at once") {
  wick::executor ex(2);
  const auto last = [](std::unique_ptr<async_semaphore>* s, environment env) -> task<void> {
    {
      auto held = co_await (*s)->acquire(env);
      static_cast<void>(held.forget());
    }
    s->reset();
  };
  for (int i = 0; i < rounds(2'000, 300); ++i) {
    auto s = std::make_unique<async_semaphore>(0);
    async_semaphore& same = *s;
    wick::detail::stop_source stop;
    wick::detail::scope in(ex);
    in.spawn(last(&s, {ex, stop.token()}));
    same.release();
    in.wait();
    CHECK(s == nullptr);
  }
}

TEST_CASE(
    "of one permit: one at a time is inside, also across suspensions, and each sees what the one before "
    "wrote") {
  wick::executor ex(4);
  async_semaphore m(1);
  long sum = 0;  // plain: the permit is what makes it safe
  int inside = 0, worst = 0;
  const auto add = [](wick::executor* on, async_semaphore* mutex, long* to, int* in,
                      int* most) -> task<void> {
    auto guard = co_await mutex->acquire(*on);
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
  async_semaphore m(1);
  auto held = m.try_acquire();
  REQUIRE(held);
  std::vector<int> order;
  const auto visit = [](async_semaphore* mutex, environment env, std::vector<int>* to, int me) -> task<void> {
    auto guard = co_await mutex->acquire(env);
    to->push_back(me);
  };
  wick::detail::scope s(ex);
  for (int i = 0; i < 100; ++i) s.spawn(visit(&m, s, &order, i));
  REQUIRE(eventually([&] { return ex.asleep() == 1; }));
  CHECK(order.empty());
  CHECK_FALSE(m.try_acquire());
  held.reset();
  s.wait();
  REQUIRE(order.size() == 100);
  for (int i = 0; i < 100; ++i) CHECK(order[static_cast<std::size_t>(i)] == i);
  CHECK(m.try_acquire());
}

TEST_CASE("while many wait no worker is blocked") {
  wick::executor ex(1);
  async_semaphore m(1);
  auto held = m.try_acquire();
  wick::detail::scope s(ex);
  const auto visit = [](async_semaphore* mutex, environment env) -> task<void> {
    auto guard = co_await mutex->acquire(env);
  };
  for (int i = 0; i < 10; ++i) s.spawn(visit(&m, ex));
  const auto where = [](wick::executor* on) -> task<std::size_t> {
    co_await on->schedule();
    co_return on->this_slot();
  };
  CHECK(sync_wait(where(&ex)) == 0);  // the only worker is still there
  held.reset();
  s.wait();
}

}  // namespace wick_test::async_semaphore_tests
