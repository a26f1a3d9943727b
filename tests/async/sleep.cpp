#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

#include "../support/doctest.hpp"
#include "support.hpp"
#include <wick/async/detail/scope.hpp>
#include <wick/async/sleep.hpp>
#include <wick/async/sync_wait.hpp>

namespace wick_test::sleep_tests {

using wick::sleep_for;
using wick::task;
using wick::ext::environment;
using wick::ext::sync_wait;
using wick_test::eventually;
using wick_test::rounds;
using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

namespace {

task<void> nap(environment env, std::chrono::nanoseconds d, std::atomic<int>* slept,
               std::atomic<int>* called_off) {
  try {
    co_await sleep_for(d, env);
    slept->fetch_add(1);
  } catch (const wick::cancelled&) {
    called_off->fetch_add(1);
  }
}

}  // namespace

TEST_CASE("a sleep takes at least its time and continues on a worker") {
  wick::executor ex(2);
  const auto run = [](wick::executor* on) -> task<bool> {
    const auto before = steady::now();
    co_await sleep_for(3ms, *on);
    co_return steady::now() - before >= 3ms && on->this_slot() < on->workers();
  };
  CHECK(sync_wait(run(&ex)));
}

TEST_CASE("who sleeps keeps no worker: a thousand sleep at once on one") {
  wick::executor ex(1);
  std::atomic<int> slept{0}, called_off{0};
  wick::detail::scope s(ex);
  for (int i = 0; i < 1000; ++i) s.spawn(nap(ex, 20ms, &slept, &called_off));
  const auto begin = steady::now();
  s.wait();
  CHECK(slept.load() == 1000);
  CHECK(steady::now() - begin < 10s);  // 20 s one after the other
}

TEST_CASE("a time that has passed does not suspend") {
  wick::executor ex(1);
  const auto run = [](wick::executor* on) -> task<bool> {
    const auto before = wick_test::this_thread();
    co_await sleep_for(0s, *on);
    co_await sleep_for(-5s, *on);
    co_await sleep_for(std::chrono::duration<double>(std::nan("")), *on);
    co_await wick::detail::sleep_until(steady::now() - 1h, *on);
    co_return before == wick_test::this_thread();
  };
  CHECK(sync_wait(run(&ex)));
  CHECK(ex.timers().size() == 0);
}

TEST_CASE("a stop wakes a sleeper promptly, however long it would have slept") {
  wick::executor ex(2);
  wick::detail::stop_source stop;
  std::atomic<int> slept{0}, called_off{0};
  wick::detail::scope s(ex);
  const environment env{ex, stop.token()};
  s.spawn(nap(env, 1h, &slept, &called_off));
  s.spawn(nap(env, std::chrono::nanoseconds::max(), &slept, &called_off));
  const auto forever = [](environment e, std::atomic<int>* off) -> task<void> {
    try {
      co_await sleep_for(std::chrono::duration<double>(std::numeric_limits<double>::infinity()), e);
    } catch (const wick::cancelled&) {
      off->fetch_add(1);
    }
  };
  s.spawn(forever(env, &called_off));
  REQUIRE(eventually([&] { return ex.timers().size() == 3; }));
  stop.request_stop();
  s.wait();
  CHECK(called_off.load() == 3);
  CHECK(slept.load() == 0);
  CHECK(ex.timers().size() == 0);
}

TEST_CASE("a task that was stopped before does not sleep") {
  wick::executor ex(1);
  wick::detail::stop_source stop;
  stop.request_stop();
  std::atomic<int> slept{0}, called_off{0};
  sync_wait(nap({ex, stop.token()}, 1h, &slept, &called_off));
  sync_wait(nap({ex, stop.token()}, 0s, &slept, &called_off));
  CHECK(called_off.load() == 2);
}

TEST_CASE(
    "the destructor of the executor wakes who sleeps with cancelled, and refuses to let anyone sleep again") {
  std::atomic<int> slept{0}, called_off{0}, again{0};
  {
    wick::executor ex(2);
    const auto stubborn = [](wick::executor* on, std::atomic<int>* n) -> wick::detail::detached {
      for (int i = 0; i < 3; ++i) {
        try {
          co_await sleep_for(1h, *on);
        } catch (const wick::cancelled&) {
          n->fetch_add(1);
        }
      }
    };
    for (int i = 0; i < 5; ++i) wick::detail::resume(stubborn(&ex, &again).handle);
    REQUIRE(eventually([&] { return ex.timers().size() == 5; }));
  }
  CHECK(again.load() == 15);
}

TEST_CASE("whatever stops and deadlines meet, each sleeper continues exactly once") {
  wick::executor ex(3);
  std::uint32_t random = 17;
  std::atomic<int> slept{0}, called_off{0};
  int n = 0;
  for (int round = 0; round < rounds(150, 30); ++round) {
    auto stop = std::make_unique<wick::detail::stop_source>();
    wick::detail::scope s(ex);
    if (round % 5 == 0) stop->request_stop();
    for (int i = 0; i < 20; ++i, ++n) {
      random = random * 1664525u + 1013904223u;
      s.spawn(
          nap({ex, stop->token()}, std::chrono::nanoseconds((random >> 12) % 400'000), &slept, &called_off));
    }
    for (unsigned i = 0; i < (random >> 20) % 64; ++i) std::this_thread::yield();
    stop->request_stop();
    s.wait();
    stop.reset();
  }
  CHECK(slept.load() + called_off.load() == n);
  CHECK(called_off.load() > 0);
}

}  // namespace wick_test::sleep_tests
