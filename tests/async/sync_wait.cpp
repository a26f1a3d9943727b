#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "../support/doctest.hpp"
#include "support.hpp"
#include <wick/async/executor.hpp>
#include <wick/async/sync_wait.hpp>

namespace wick_test::sync_wait_tests {

using wick::task;
using wick::ext::sync_wait;
using wick_test::counted;
using wick_test::rounds;

TEST_CASE("sync_wait returns the value of a task that ends elsewhere") {
  wick::executor ex(2);
  const auto far = [](wick::executor* on) -> task<std::string> {
    co_await on->schedule();
    co_return "there";
  };
  CHECK(sync_wait(far(&ex)) == "there");
}

TEST_CASE("sync_wait throws what the task threw") {
  const auto fail = []() -> task<int> {
    throw std::out_of_range("index 7");
    co_return 0;
  };
  CHECK_THROWS_WITH_AS((void)sync_wait(fail()), "index 7", std::out_of_range);
}

TEST_CASE("sync_wait throws what a task of void threw on a worker") {
  wick::executor ex(1);
  const auto fail = [](wick::executor* on) -> task<void> {
    co_await on->schedule();
    throw std::out_of_range("index 8");
  };
  CHECK_THROWS_WITH_AS(sync_wait(fail(&ex)), "index 8", std::out_of_range);
}

TEST_CASE("sync_wait hands out a value that can only be moved") {
  const auto make = []() -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(3); };
  CHECK(*sync_wait(make()) == 3);
}

TEST_CASE("sync_wait runs the task on the calling thread up to its first suspension") {
  wick::executor ex(1);
  std::thread::id before, after;
  const auto hop = [](wick::executor* on, std::thread::id* b, std::thread::id* a) -> task<void> {
    *b = wick_test::this_thread();
    co_await on->schedule();
    *a = wick_test::this_thread();
  };
  sync_wait(hop(&ex, &before, &after));
  CHECK(before == wick_test::this_thread());
  CHECK(after != wick_test::this_thread());
}

TEST_CASE("the task's frame, its parameters too, is gone when sync_wait returns") {
  // A parameter may refer to what the caller destroys next: here each round has a counter of its own.
  wick::executor ex(2);
  const auto hold = [](wick::executor* on, counted) -> task<void> { co_await on->schedule(); };
  int left = 0;
  for (int i = 0; i < rounds(20'000, 2'000); ++i) {
    const auto alive = std::make_unique<std::atomic<int>>(0);
    sync_wait(hold(&ex, counted(*alive)));
    left += alive->load();
  }
  CHECK(left == 0);
}

TEST_CASE("the task's frame is gone when sync_wait throws") {
  wick::executor ex(2);
  const auto hold = [](wick::executor* on, counted) -> task<int> {
    co_await on->schedule();
    throw std::runtime_error("no");
  };
  int left = 0;
  for (int i = 0; i < rounds(2'000, 500); ++i) {
    const auto alive = std::make_unique<std::atomic<int>>(0);
    CHECK_THROWS_AS((void)sync_wait(hold(&ex, counted(*alive))), std::runtime_error);
    left += alive->load();
  }
  CHECK(left == 0);
}

TEST_CASE("many threads may wait at once, each for its own task") {
  wick::executor ex(2);
  const auto square = [](wick::executor* on, int x) -> task<int> {
    co_await on->schedule();
    co_await on->schedule();
    co_return x* x;
  };
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < rounds(2'000, 300); ++i) {
        if (sync_wait(square(&ex, t + i)) != (t + i) * (t + i)) wrong.fetch_add(1);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  CHECK(wrong.load() == 0);
}

TEST_CASE("sync_wait may be called while the caller itself runs inside a coroutine on a foreign thread") {
  wick::executor ex(1);
  const auto inner = [](wick::executor* on) -> task<int> {
    co_await on->schedule();
    co_return 5;
  };
  const auto outer = [](auto make, wick::executor* on) -> task<int> {
    const int x = sync_wait(make(on));
    co_return x + 1;
  };
  CHECK(sync_wait(outer(inner, &ex)) == 6);
}

}  // namespace wick_test::sync_wait_tests
