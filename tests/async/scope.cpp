#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "../support/doctest.hpp"
#include "support.hpp"
#include <wick/async/detail/scope.hpp>
#include <wick/async/sync_wait.hpp>
#include <wick/async/when_all.hpp>

namespace wick_test::scope_tests {

using wick::task;
using wick::ext::sync_wait;
using wick_test::counted;
using wick_test::rounds;

namespace {

task<void> add(std::atomic<int>* to, int n) {
  to->fetch_add(n);
  co_return;
}

task<void> fail(std::string text) {
  throw std::runtime_error(text);
  co_return;
}

/// Hops from worker to worker until it is asked to stop.
task<void> until_stopped(wick::detail::scope* in, std::atomic<int>* stopped) {
  while (!in->stop().stop_requested()) co_await in->on().schedule();
  stopped->fetch_add(1);
}

}  // namespace

TEST_CASE("all that was spawned has ended when wait returns") {
  wick::executor ex(4);
  std::atomic<int> sum{0};
  wick::detail::scope s(ex);
  const int n = rounds(10'000, 2'000);
  for (int i = 0; i < n; ++i) s.spawn(add(&sum, 1));
  s.wait();
  CHECK(sum.load() == n);
}

TEST_CASE("all that was spawned has ended when join continues") {
  wick::executor ex(4);
  const auto run = [](wick::executor* on) -> task<int> {
    std::atomic<int> sum{0};
    wick::detail::scope s(*on);
    for (int i = 0; i < 1000; ++i) s.spawn(add(&sum, 1));
    co_await s.join();
    co_return sum.load();
  };
  for (int i = 0; i < 10; ++i) CHECK(sync_wait(run(&ex)) == 1000);
}

TEST_CASE("joining a scope in which nothing was spawned continues at once") {
  wick::executor ex(1);
  const auto run = [](wick::executor* on) -> task<std::thread::id> {
    wick::detail::scope s(*on);
    co_await s.join();
    co_return wick_test::this_thread();
  };
  CHECK(sync_wait(run(&ex)) == wick_test::this_thread());
  wick::detail::scope s(ex);
  s.wait();
}

TEST_CASE("what is spawned runs on the executor's workers") {
  wick::executor ex(2);
  std::atomic<bool> elsewhere{false};
  const auto where = [](wick::executor* on, std::atomic<bool>* foreign) -> task<void> {
    if (on->this_slot() >= on->workers()) *foreign = true;
    co_return;
  };
  wick::detail::scope s(ex);
  for (int i = 0; i < 100; ++i) s.spawn(where(&ex, &elsewhere));
  s.wait();
  CHECK_FALSE(elsewhere.load());
}

TEST_CASE("the first exception stops the siblings, which are all awaited, and wait throws it") {
  wick::executor ex(2);
  std::atomic<int> stopped{0};
  wick::detail::scope s(ex);
  for (int i = 0; i < 20; ++i) s.spawn(until_stopped(&s, &stopped));
  s.spawn(fail("photo 17"));
  CHECK_THROWS_WITH_AS(s.wait(), "photo 17", std::runtime_error);
  CHECK(stopped.load() == 20);
}

TEST_CASE("the first exception stops the siblings, which are all awaited, and join throws it") {
  wick::executor ex(2);
  const auto run = [](wick::executor* on, std::atomic<int>* stopped) -> task<std::string> {
    std::string text;
    wick::detail::scope s(*on);
    for (int i = 0; i < 20; ++i) s.spawn(until_stopped(&s, stopped));
    s.spawn(fail("photo 18"));
    try {
      co_await s.join();
    } catch (const std::runtime_error& e) {
      text = e.what();
    }
    co_return text;
  };
  std::atomic<int> stopped{0};
  CHECK(sync_wait(run(&ex, &stopped)) == "photo 18");
  CHECK(stopped.load() == 20);
}

TEST_CASE("of many exceptions exactly one is thrown, and no sibling is lost") {
  wick::executor ex(4);
  for (int round = 0; round < rounds(200, 50); ++round) {
    std::atomic<int> sum{0};
    wick::detail::scope s(ex);
    for (int i = 0; i < 10; ++i) {
      s.spawn(fail("one of many"));
      s.spawn(add(&sum, 1));
    }
    CHECK_THROWS_WITH_AS(s.wait(), "one of many", std::runtime_error);
    CHECK(sum.load() == 10);
  }
}

TEST_CASE("a stop callback of a sibling is called when another fails") {
  wick::executor ex(2);
  wick::detail::scope s(ex);
  std::atomic<int> called{0};
  const wick::detail::stop_callback on_stop(s.stop(), [&] { called.fetch_add(1); });
  s.spawn(fail("x"));
  CHECK_THROWS_AS(s.wait(), std::runtime_error);
  CHECK(called.load() == 1);
}

TEST_CASE("a task of the scope may spawn more into it") {
  struct tree {
    static task<void> grow(wick::detail::scope* in, std::atomic<int>* leaves, int depth) {
      if (depth == 0) {
        leaves->fetch_add(1);
        co_return;
      }
      in->spawn(grow(in, leaves, depth - 1));
      in->spawn(grow(in, leaves, depth - 1));
    }
  };
  wick::executor ex(4);
  std::atomic<int> leaves{0};
  wick::detail::scope s(ex);
  s.spawn(tree::grow(&s, &leaves, 10));
  s.wait();
  CHECK(leaves.load() == 1024);
}

TEST_CASE("several threads may spawn at once") {
  wick::executor ex(2);
  std::atomic<int> sum{0};
  wick::detail::scope s(ex);
  {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 500; ++i) s.spawn(add(&sum, 1));
      });
    }
    for (std::thread& t : threads) t.join();
  }
  s.wait();
  CHECK(sum.load() == 2000);
}

TEST_CASE("the destructor asks the tasks to stop and waits for them") {
  wick::executor ex(2);
  std::atomic<int> stopped{0};
  {
    wick::detail::scope s(ex);
    for (int i = 0; i < 10; ++i) s.spawn(until_stopped(&s, &stopped));
  }
  CHECK(stopped.load() == 10);
}

TEST_CASE("the destructor drops an exception that no caller asked for") {
  wick::executor ex(2);
  std::atomic<int> sum{0};
  {
    wick::detail::scope s(ex);
    s.spawn(fail("unheard"));
    s.spawn(add(&sum, 1));
  }
  CHECK(sum.load() == 1);
}

TEST_CASE("request_stop reaches the tasks and is no error") {
  wick::executor ex(2);
  std::atomic<int> stopped{0};
  wick::detail::scope s(ex);
  for (int i = 0; i < 10; ++i) s.spawn(until_stopped(&s, &stopped));
  s.request_stop();
  s.wait();
  CHECK(stopped.load() == 10);
}

TEST_CASE("the frames of the tasks, their parameters too, are gone when wait returns") {
  wick::executor ex(2);
  const auto hold = [](counted) -> task<void> { co_return; };
  int left = 0;
  for (int i = 0; i < rounds(5'000, 500); ++i) {
    const auto alive = std::make_unique<std::atomic<int>>(0);
    wick::detail::scope s(ex);
    s.spawn(hold(counted(*alive)));
    s.spawn(hold(counted(*alive)));
    s.wait();
    left += alive->load();
  }
  CHECK(left == 0);
}

TEST_CASE("a scope may be destroyed as soon as its join continues") {
  wick::executor ex(4);
  const auto run = [](wick::executor* on) -> task<int> {
    std::atomic<int> sum{0};
    auto s = std::make_unique<wick::detail::scope>(*on);
    for (int i = 0; i < 4; ++i) s->spawn(add(&sum, 1));
    co_await s->join();
    s.reset();
    co_return sum.load();
  };
  int sum = 0;
  const int n = rounds(5'000, 500);
  for (int i = 0; i < n; ++i) sum += sync_wait(run(&ex));
  CHECK(sum == 4 * n);
}

TEST_CASE("a scope in a task of a scope passes its failure up") {
  wick::executor ex(2);
  const auto inner = [](wick::executor* on) -> task<void> {
    wick::detail::scope s(*on);
    s.spawn(fail("from below"));
    co_await s.join();
  };
  std::atomic<int> stopped{0};
  wick::detail::scope outer(ex);
  outer.spawn(until_stopped(&outer, &stopped));
  outer.spawn(inner(&ex));
  CHECK_THROWS_WITH_AS(outer.wait(), "from below", std::runtime_error);
  CHECK(stopped.load() == 1);
}

namespace {

/// A tree of forks: its leaves are counted. `hop`: some leaves suspend, so that they end elsewhere.
task<void> grow(wick::executor* on, int depth, bool hop, std::atomic<int>* leaves) {
  if (depth == 0) {
    if (hop && leaves->load(std::memory_order_relaxed) % 3 == 0) co_await on->schedule();
    leaves->fetch_add(1, std::memory_order_relaxed);
    co_return;
  }
  wick::detail::scope both(*on);
  both.fork(grow(on, depth - 1, hop, leaves));
  co_await grow(on, depth - 1, hop, leaves);
  co_await both.join();
}

/// A path: each fork has one more below it.
task<void> dig(wick::executor* on, int depth, std::atomic<int>* bottom) {
  if (depth == 0) {
    bottom->fetch_add(1);
    co_return;
  }
  wick::detail::scope below(*on);
  below.fork(dig(on, depth - 1, bottom));
  co_await below.join();
}

/// As many jobs as make a worker's queue long enough for fork to run what it gets at once.
task<void> idle_jobs(wick::detail::scope* in, std::atomic<int>* sum) {
  for (int i = 0; i < 100; ++i) in->spawn(add(sum, 1));
  co_return;
}

}  // namespace

TEST_CASE("a tree of forks has all its leaves, whether they suspend or not, on any number of workers") {
  for (const std::size_t workers : {1, 2, 4}) {
    for (const bool hop : {false, true}) {
      wick::executor ex(workers);
      std::atomic<int> leaves{0};
      const int depth = rounds(14, 10);
      sync_wait(wick::detail::starts_on(ex, grow(&ex, depth, hop, &leaves)));
      CHECK(leaves.load() == 1 << depth);
    }
  }
}

TEST_CASE("forks may nest as deep as they like") {
  wick::executor ex(2);
  std::atomic<int> bottom{0};
  const int depth = rounds(200'000, 20'000);
  sync_wait(wick::detail::starts_on(ex, dig(&ex, depth, &bottom)));
  CHECK(bottom.load() == 1);
  // The same when each begins at once, on top of the one before.
  wick::executor one(1);
  std::atomic<int> sum{0};
  const auto run = [](wick::executor* on, int deep, std::atomic<int>* to,
                      std::atomic<int>* count) -> task<void> {
    wick::detail::scope s(*on);
    co_await idle_jobs(&s, count);
    co_await dig(on, deep, to);
    co_await s.join();
  };
  sync_wait(wick::detail::starts_on(one, run(&one, depth, &bottom, &sum)));
  CHECK(bottom.load() == 2);
  CHECK(sum.load() == 100);
}

TEST_CASE("while many jobs are queued a fork begins at once, else and on other threads it is queued") {
  wick::executor ex(1);
  const auto run = [](wick::executor* on) -> task<void> {
    std::atomic<int> sum{0}, forked{0};
    {
      wick::detail::scope s(*on);
      s.fork(add(&forked, 1));
      CHECK(forked.load() == 0);  // the only worker is here
      co_await s.join();
      CHECK(forked.load() == 1);
    }
    wick::detail::scope s(*on);
    co_await idle_jobs(&s, &sum);
    CHECK(sum.load() == 0);
    s.fork(add(&forked, 1));
    CHECK(forked.load() == 2);
    co_await s.join();
    CHECK(sum.load() == 100);
  };
  sync_wait(wick::detail::starts_on(ex, run(&ex)));
  std::atomic<int> from_outside{0};
  wick::detail::scope s(ex);
  s.fork(add(&from_outside, 1));
  s.wait();
  CHECK(from_outside.load() == 1);
}

TEST_CASE(
    "a fork that begins at once may fail at once, or later elsewhere; join throws it, and nothing is lost") {
  for (const bool later : {false, true}) {
    CAPTURE(later);
    wick::executor ex(2);
    std::atomic<int> alive{0};
    const auto run = [](wick::executor* on, bool hop, std::atomic<int>* frames) -> task<void> {
      std::atomic<int> sum{0};
      wick::detail::scope s(*on);
      co_await idle_jobs(&s, &sum);
      s.fork([](wick::executor* to, bool suspend, counted) -> task<void> {
        if (suspend) co_await to->schedule();
        throw std::runtime_error("forked");
      }(on, hop, counted(*frames)));
      std::string text;
      try {
        co_await s.join();
      } catch (const std::runtime_error& e) {
        text = e.what();
      }
      CHECK(text == "forked");
      CHECK(frames->load() == 0);
      CHECK(s.stop().stop_requested());
      CHECK(sum.load() == 100);
    };
    sync_wait(wick::detail::starts_on(ex, run(&ex, later, &alive)));
  }
}

}  // namespace wick_test::scope_tests
