#include <atomic>
#include <chrono>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../support/doctest.hpp"
#include "support.hpp"
#include <wick/run/async_semaphore.hpp>
#include <wick/run/future.hpp>
#include <wick/run/sync_wait.hpp>

using wick::task;
using wick::detail::as_future;
using wick::detail::future;
using wick_test::counted;
using wick_test::rounds;
using namespace std::chrono_literals;

namespace {

task<int> when_open(wick::async_semaphore* gate, wick::executor* on, counted) {
  auto permit = co_await gate->acquire(*on);
  co_return 42;
}

}  // namespace

TEST_CASE("the task starts on a worker at once, and its value is taken later") {
  wick::executor ex(2);
  const auto where = [](wick::executor* on) -> task<bool> { co_return on->this_slot() < on->workers(); };
  auto f = as_future(ex, where(&ex));
  CHECK(f.valid());
  CHECK(f.get());
  CHECK_FALSE(f.valid());
  CHECK_THROWS_AS(f.get(), std::logic_error);
  CHECK_THROWS_AS(future<int>().wait(), std::logic_error);
}

TEST_CASE("a future is ready when the task has ended and its frame is gone, not before") {
  wick::executor ex(1);
  wick::async_semaphore gate(0);
  std::atomic<int> alive{0};
  auto f = as_future(ex, when_open(&gate, &ex, counted(alive)));
  CHECK_FALSE(f.ready());
  CHECK_FALSE(f.wait_for(1ms));
  gate.release();
  f.wait();
  CHECK(f.ready());
  CHECK(f.wait_for(0s));
  CHECK(alive.load() == 0);
  CHECK(f.get() == 42);
}

TEST_CASE("a time without end may be waited, and ends with the task") {
  wick::executor ex(1);
  wick::async_semaphore gate(0);
  std::atomic<int> alive{0};
  for (const auto time : {std::chrono::hours::max(), std::chrono::hours(1)}) {
    auto f = as_future(ex, when_open(&gate, &ex, counted(alive)));
    std::thread other([&] { gate.release(); });
    CHECK(f.wait_for(time));
    other.join();
    CHECK(f.wait_for(std::chrono::hours::min()));
  }
  wick::async_semaphore closed(0);  // the other one has its permits back
  auto late = as_future(ex, when_open(&closed, &ex, counted(alive)));
  CHECK_FALSE(late.wait_for(std::chrono::hours::min()));
  CHECK_FALSE(late.wait_for(std::chrono::duration<double>(std::nan(""))));
  closed.release();
  CHECK(late.get() == 42);
}

TEST_CASE("an exception is thrown by get") {
  wick::executor ex(1);
  const auto fail = []() -> task<void> {
    throw std::runtime_error("no such file");
    co_return;
  };
  auto f = as_future(ex, fail());
  CHECK_THROWS_WITH_AS(f.get(), "no such file", std::runtime_error);
}

TEST_CASE("a value that can only be moved, and none at all, arrive") {
  wick::executor ex(1);
  const auto make = []() -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(7); };
  const auto nothing = []() -> task<void> { co_return; };
  CHECK(*as_future(ex, make()).get() == 7);
  as_future(ex, nothing()).get();
}

TEST_CASE("a future that is dropped abandons the result, and the task goes on to its end") {
  std::atomic<int> alive{0}, ended{0};
  wick::async_semaphore gate(0);
  {
    wick::executor ex(1);
    const auto run = [](wick::async_semaphore* g, wick::executor* on, std::atomic<int>* n,
                        counted) -> task<void> {
      auto permit = co_await g->acquire(*on);
      n->fetch_add(1);
    };
    { const auto dropped = as_future(ex, run(&gate, &ex, &ended, counted(alive))); }
    CHECK(alive.load() == 1);
    gate.release();
  }
  CHECK(ended.load() == 1);
  CHECK(alive.load() == 0);
}

TEST_CASE("a worker is not blocked: waiting there is refused, with what to do") {
  wick::executor ex(1);
  wick::async_semaphore gate(0);
  std::atomic<int> alive{0};
  auto f = as_future(ex, when_open(&gate, &ex, counted(alive)));
  const auto ask = [](wick::executor* on, future<int>* of) -> task<std::string> {
    co_await on->schedule();
    try {
      of->wait();
    } catch (const std::logic_error& e) {
      co_return e.what();
    }
    co_return "";
  };
  CHECK(wick::sync_wait(ask(&ex, &f)).find("co_await the task") != std::string::npos);
  gate.release();
  CHECK(f.get() == 42);
}

TEST_CASE("many futures at once each give their own value") {
  wick::executor ex(4);
  const auto square = [](int i) -> task<int> { co_return i* i; };
  std::vector<future<int>> all;
  const int n = rounds(3'000, 400);
  for (int i = 0; i < n; ++i) all.push_back(as_future(ex, square(i)));
  bool right = true;
  for (int i = 0; i < n; ++i) right = right && all[static_cast<std::size_t>(i)].get() == i * i;
  CHECK(right);
}
