#include <cstdint>
#include <thread>

#include "../support/doctest.hpp"
#include <wick/async/executor.hpp>
#include <wick/profile/detail/stage_clock.hpp>
#include <wick/profile/detail/stage_clocks.hpp>

namespace wick_test::stage_clock_tests {

using wick::detail::stage_clock;

TEST_CASE("a new clock shows nothing") {
  const stage_clock c;
  CHECK(c.count() == 0);
  CHECK(c.timed() == 0);
  CHECK(c.timed_ticks() == 0);
}

TEST_CASE("runs and timed runs add up, each for itself") {
  stage_clock c;
  c.ran(32);
  c.ran(10);
  c.worked(1, 500);
  c.worked(2, 700);
  CHECK(c.count() == 42);
  CHECK(c.timed() == 3);
  CHECK(c.timed_ticks() == 1200);
}

TEST_CASE("the time of all runs follows from the timed ones") {
  // What reports do: one of eight was timed, and took 100 ticks; all eight took about 800.
  stage_clock c;
  c.ran(8);
  c.worked(1, 100);
  CHECK(static_cast<double>(c.timed_ticks()) * static_cast<double>(c.count()) /
            static_cast<double>(c.timed()) ==
        800.0);
}

TEST_CASE("another thread may read while the worker writes, and never sees a number fall") {
  stage_clock c;
  wick::detail::stage_record r;
  constexpr std::uint64_t n = 100'000;
  std::thread writer([&] {
    for (std::uint64_t i = 0; i < n; ++i) {
      c.ran(1);
      c.worked(1, 3);
      r.waited(2);
    }
  });
  std::uint64_t count = 0, ticks = 0, waited = 0;
  bool fell = false;
  while (count < n || waited < 2 * n) {
    const std::uint64_t now_count = c.count(), now_ticks = c.timed_ticks(), now_waited = r.waited();
    fell = fell || now_count < count || now_ticks < ticks || now_waited < waited;
    count = now_count;
    ticks = now_ticks;
    waited = now_waited;
    std::this_thread::yield();
  }
  writer.join();
  CHECK_FALSE(fell);
  CHECK(c.count() == n);
  CHECK(c.timed_ticks() == 3 * n);
  CHECK(r.waited() == 2 * n);
}

TEST_CASE("probes add up, and those that blocked once more") {
  stage_clock c;
  c.probed({100, 50, false});
  c.probed({200, 20, true});
  const auto p = c.probed();
  CHECK(p.count == 2);
  CHECK(p.ticks == 300);
  CHECK(p.nanoseconds == 70);
  CHECK(p.blocked_ticks == 200);
  CHECK(p.blocked_nanoseconds == 20);
}

TEST_CASE("a record keeps the slowest sample and forgets it when it was reported") {
  wick::detail::stage_record r;
  r.took(10, 1);
  r.took(99, 2);
  r.took(50, 3);
  CHECK(r.slowest() == 99);
  CHECK(r.slowest_index() == 2);
  r.forget_slowest();
  r.took(20, 4);
  CHECK(r.slowest_index() == 4);
}

TEST_CASE("what is waited for is distinguished from how long it was") {
  wick::detail::stage_record r;
  wick::detail::activity::times t{};
  t[static_cast<std::size_t>(wick::detail::wait_for::memory)] = 7;
  r.waited_for(t);
  r.waited(10);
  CHECK(r.waited() == 10);
  CHECK(r.waited(wick::detail::wait_for::memory) == 7);
  CHECK(r.waited(wick::detail::wait_for::lock) == 0);
}

TEST_CASE("another thread's turn in the first reading of processor time puts off no later reading") {
  wick::executor on(1);
  const wick::executor::helper slot(on);
  wick::detail::stage_clocks clocks(on, 1, 0, 1, false);
  auto& mine = clocks.mine();
  constexpr std::uint64_t at = 1'000'000, turn = 1'000'000'000, readings = 2;
  mine.has_probed({}, at, turn, readings);
  CHECK(mine.next_probe < at + 100 * turn);  // and not 1,000 turns later
  CHECK(mine.long_ticks < 100 * turn);
}

}  // namespace wick_test::stage_clock_tests
