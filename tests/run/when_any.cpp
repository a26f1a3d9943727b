#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "../support/doctest.hpp"
#include "support.hpp"
#include <wick/run/channel.hpp>
#include <wick/run/scope.hpp>
#include <wick/run/sleep.hpp>
#include <wick/run/sync_wait.hpp>
#include <wick/run/when_any.hpp>

using wick::sync_wait;
using wick::task;
using wick::detail::environment;
using wick::detail::when_any;
using wick_test::counted;
using wick_test::rounds;
using namespace std::chrono_literals;

namespace {

task<int> give(int i) { co_return i; }
task<int> fail(std::string text) {
  throw std::runtime_error(text);
  co_return 0;
}
task<int> after(environment env, std::chrono::nanoseconds d, int value, counted) {
  co_await wick::sleep_for(d, env);
  co_return value;
}
/// Loses, and takes its time to clean up.
task<int> untidy(environment env, std::atomic<int>* cleaned) {
  bool stopped = false;
  try {
    co_await wick::sleep_for(1h, env);
  } catch (const wick::cancelled&) {
    stopped = true;
  }
  if (stopped) {
    for (int i = 0; i < 10; ++i) co_await env.on().schedule();
    cleaned->fetch_add(1);
  }
  co_return -1;
}

}  // namespace

TEST_CASE("the first result is given with its place, and the losers have unwound before") {
  wick::executor ex(2);
  std::atomic<int> alive{0}, cleaned{0};
  const auto run = [](wick::executor* on, std::atomic<int>* n,
                      std::atomic<int>* c) -> task<std::pair<int, bool>> {
    wick::detail::stop_source stop;
    const environment env{*on, stop.token()};
    auto won = co_await when_any(stop, after(env, 1h, 1, counted(*n)), untidy(env, c),
                                 after(env, 1ms, 3, counted(*n)));
    const bool clean = n->load() == 0 && c->load() == 1;
    co_return std::pair(won.index() == 2 ? std::get<2>(won) : 0, clean);
  };
  const auto [value, clean] = sync_wait(run(&ex, &alive, &cleaned));
  CHECK(value == 3);
  CHECK(clean);
}

TEST_CASE("a timeout: the sleep wins against what hangs") {
  wick::executor ex(1);
  wick::detail::channel<int> silent(1);
  const auto run = [](wick::executor* on, wick::detail::channel<int>* c) -> task<std::size_t> {
    wick::detail::stop_source stop;
    const environment env{*on, stop.token()};
    auto won = co_await when_any(stop, c->receive(env), wick::sleep_for(2ms, env));
    co_return won.index();
  };
  CHECK(sync_wait(run(&ex, &silent)) == 1);
  int one = 1;
  CHECK(silent.try_send(one));
  CHECK(sync_wait(run(&ex, &silent)) == 0);
  CHECK(silent.size() == 0);
}

TEST_CASE("one that ends at once wins, and those behind it are stopped at their first wait") {
  wick::executor ex(1);
  std::atomic<int> alive{0};
  const auto run = [](wick::executor* on, std::atomic<int>* n) -> task<int> {
    wick::detail::stop_source stop;
    auto won = co_await when_any(stop, give(7), after({*on, stop.token()}, 1h, 8, counted(*n)));
    co_return std::get<0>(won);
  };
  CHECK(sync_wait(run(&ex, &alive)) == 7);
}

TEST_CASE("an exception that comes first decides; a loser's exception is dropped") {
  wick::executor ex(1);
  std::atomic<int> alive{0};
  const auto run = [](wick::executor* on, std::atomic<int>* n, bool first) -> task<int> {
    wick::detail::stop_source stop;
    if (first) {
      auto won = co_await when_any(stop, fail("disk"), after({*on, stop.token()}, 1h, 8, counted(*n)));
      co_return std::get<1>(won);
    }
    auto won = co_await when_any(stop, give(5), fail("late"));
    co_return std::get<0>(won);
  };
  CHECK_THROWS_WITH_AS(sync_wait(run(&ex, &alive, true)), "disk", std::runtime_error);
  CHECK(sync_wait(run(&ex, &alive, false)) == 5);
  CHECK(alive.load() == 0);
}

TEST_CASE("of a vector the index says which was first") {
  wick::executor ex(2);
  std::atomic<int> alive{0};
  const auto run = [](wick::executor* on, std::atomic<int>* n, std::size_t quick) -> task<std::size_t> {
    wick::detail::stop_source stop;
    const environment env{*on, stop.token()};
    std::vector<task<int>> tasks;
    for (std::size_t i = 0; i < 10; ++i) {
      tasks.push_back(
          after(env, i == quick ? std::chrono::nanoseconds(1ms) : 1h, static_cast<int>(i), counted(*n)));
    }
    auto won = co_await when_any(stop, std::move(tasks));
    co_return static_cast<std::size_t>(won.value) == won.index ? won.index : 99;
  };
  for (const std::size_t quick : {0u, 4u, 9u}) CHECK(sync_wait(run(&ex, &alive, quick)) == quick);
  CHECK(alive.load() == 0);
}

TEST_CASE("of no tasks there is no first") {
  wick::detail::stop_source stop;
  CHECK_THROWS_AS(sync_wait(when_any(stop, std::vector<task<int>>())), std::invalid_argument);
}

TEST_CASE("tasks of void have a place and no value") {
  wick::detail::stop_source stop;
  const auto nothing = []() -> task<void> { co_return; };
  const auto won = sync_wait(when_any(stop, nothing()));
  CHECK(won.index() == 0);
  std::vector<task<void>> several;
  several.push_back(nothing());
  wick::detail::stop_source again;
  CHECK(sync_wait(when_any(again, std::move(several))).index == 0);
}

TEST_CASE("a value whose copy throws after it has won is the exception, not a hang") {
  struct fragile {
    fragile() = default;
    fragile(fragile&& other) : moves(other.moves + 1) {
      if (moves == 3) throw std::runtime_error("moved once too often");
    }
    int moves = 0;
  };
  const auto make = []() -> task<fragile> { co_return fragile(); };
  wick::detail::stop_source stop;
  CHECK_THROWS_AS(sync_wait(when_any(stop, make())), std::runtime_error);
}

TEST_CASE(
    "whoever wins on whatever worker, there is exactly one, an outer stop included, and nothing is left") {
  wick::executor ex(4);
  std::atomic<int> alive{0};
  std::uint32_t random = 11;
  const auto run = [](environment env, std::atomic<int>* n, std::uint32_t r,
                      std::atomic<int>* bad) -> task<void> {
    wick::detail::linked_stop_source stop(env.stop());
    const environment inner{env.on(), stop.token()};
    std::vector<task<int>> tasks;
    for (int i = 0; i < 4; ++i) {
      tasks.push_back(after(inner, std::chrono::nanoseconds((r >> (4 * i)) % 16 * 10'000), i, counted(*n)));
    }
    try {
      auto won = co_await when_any(stop, std::move(tasks));
      if (static_cast<std::size_t>(won.value) != won.index) bad->fetch_add(1);
    } catch (const wick::cancelled&) {
    }
  };
  std::atomic<int> bad{0};
  for (int round = 0; round < rounds(200, 40); ++round) {
    wick::detail::stop_source outer;
    wick::detail::scope s(ex);
    for (int i = 0; i < 8; ++i) {
      random = random * 1664525u + 1013904223u;
      s.spawn(run({ex, outer.token()}, &alive, random >> 8, &bad));
    }
    for (unsigned i = 0; i < (random >> 24) % 32; ++i) std::this_thread::yield();
    if (round % 2 == 0) outer.request_stop();
    s.wait();
  }
  CHECK(bad.load() == 0);
  CHECK(alive.load() == 0);
  CHECK(ex.timers().size() == 0);
}
