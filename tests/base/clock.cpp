#include <chrono>
#include <cstdint>
#include <thread>

#include "../support/doctest.hpp"
#include "../support/work_for.hpp"
#include <wick/base/detail/clock.hpp>

namespace wick_test::clock_tests {

using wick_test::work_for;

TEST_CASE("ticks go forward on one thread") {
  std::uint64_t before = wick::detail::now_ticks();
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t now = wick::detail::now_ticks();
    REQUIRE(now >= before);
    before = now;
  }
}

TEST_CASE("ticks pass while time does") {
  const std::uint64_t before = wick::detail::now_ticks();
  work_for(std::chrono::microseconds(100));
  CHECK(wick::detail::now_ticks() > before);
}

TEST_CASE("a thread that starts later reads later ticks") {
  const std::uint64_t before = wick::detail::now_ticks();
  work_for(std::chrono::milliseconds(1));
  std::uint64_t there = 0;
  std::thread([&] { there = wick::detail::now_ticks(); }).join();
  CHECK(there > before);
}

TEST_CASE("elapsed is not shorter than the time that passed") {
  const wick::detail::tick_scale scale;
  work_for(std::chrono::milliseconds(2));
  CHECK(scale.elapsed() >= 0.002);
}

TEST_CASE("the scale turns ticks into seconds") {
  const wick::detail::tick_scale scale;
  const auto start = std::chrono::steady_clock::now();
  const std::uint64_t first = wick::detail::now_ticks();
  work_for(std::chrono::milliseconds(20));
  const std::uint64_t last = wick::detail::now_ticks();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  // The two clocks are read one after the other, and the machine may do something else between: a wide
  // margin.
  const double measured = static_cast<double>(last - first) * scale.seconds_per_tick();
  CHECK(measured > 0.2 * seconds);
  CHECK(measured < 5 * seconds);
}

TEST_CASE("a tick is less than a microsecond and more than a femtosecond") {
  const wick::detail::tick_scale scale;
  work_for(std::chrono::milliseconds(2));
  CHECK(scale.seconds_per_tick() < 1e-6);
  CHECK(scale.seconds_per_tick() > 1e-15);
}

}  // namespace wick_test::clock_tests
