#include <cstdint>

#include "../support/doctest.hpp"
#include <wick/profile/detail/stall_meter.hpp>

namespace wick_test::stall_meter_tests {

using wick::detail::stall_meter;

TEST_CASE("a meter that has seen nothing says zero") {
  const stall_meter m;
  CHECK(m.count() == 0);
  CHECK(m.mean() == 0.0);
  CHECK(m.median() == 0.0);
}

TEST_CASE("the mean is the share of all time, so long iterations weigh more") {
  stall_meter m;
  m.iteration(0, 100);
  m.iteration(300, 300);
  CHECK(m.mean() == 0.75);
  CHECK(m.count() == 2);
  CHECK(m.waited_ticks() == 300);
  CHECK(m.total_ticks() == 400);
}

TEST_CASE("the median of equal iterations is their share, at every tenth of a percent") {
  for (std::uint64_t permille = 0; permille <= 1000; ++permille) {
    stall_meter m;
    for (int i = 0; i < 3; ++i) m.iteration(permille, 1000);
    CAPTURE(permille);
    REQUIRE(m.median() == static_cast<double>(permille) / 1000);
    REQUIRE(m.mean() == static_cast<double>(permille) / 1000);
  }
}

TEST_CASE("the median is within a tenth of a percent of the middle iteration's share") {
  for (std::uint64_t waited = 0; waited <= 777; ++waited) {
    stall_meter m;
    m.iteration(0, 5);
    m.iteration(waited, 777);
    m.iteration(5, 5);
    const double share = static_cast<double>(waited) / 777;
    CAPTURE(waited);
    REQUIRE(m.median() <= share + 1e-12);
    REQUIRE(m.median() > share - 0.001 - 1e-12);
  }
}

TEST_CASE("a few slow iterations move the mean and not the median") {
  stall_meter m;
  for (int i = 0; i < 99; ++i) m.iteration(1, 100);
  m.iteration(1'000'000, 1'000'000);
  CHECK(m.median() == 0.01);
  CHECK(m.mean() > 0.98);
}

TEST_CASE("of an even number of iterations the median is the lower of the middle two") {
  stall_meter m;
  m.iteration(2, 10);
  m.iteration(8, 10);
  CHECK(m.median() == 0.2);
}

TEST_CASE("a loop that only waits has one for mean and median") {
  stall_meter m;
  for (int i = 0; i < 10; ++i) m.iteration(7, 7);
  CHECK(m.mean() == 1.0);
  CHECK(m.median() == 1.0);
}

TEST_CASE("waiting longer than the iteration counts as all of it") {
  // Time-stamp counters of two processors may differ by a little.
  stall_meter m;
  m.iteration(101, 100);
  CHECK(m.mean() == 1.0);
  CHECK(m.median() == 1.0);
  CHECK(m.waited_ticks() == 100);
}

TEST_CASE("an iteration that took no time is none") {
  stall_meter m;
  m.iteration(0, 0);
  m.iteration(5, 0);
  CHECK(m.count() == 0);
  CHECK(m.mean() == 0.0);
}

TEST_CASE("iterations of many days are counted right") {
  stall_meter m;
  const std::uint64_t months = std::uint64_t{1} << 60;
  m.iteration(months / 4, months);
  CHECK(m.mean() == 0.25);
  CHECK(m.median() == 0.25);
}

TEST_CASE("how long waiting, steps and iterations took is kept each for itself") {
  stall_meter m;
  for (int i = 0; i < 10; ++i) m.iteration(100, 1000);
  m.iteration(900, 1000);
  CHECK(m.waits().quantile(0.5) == doctest::Approx(100).epsilon(0.07));
  CHECK(m.waits().quantile(0.99) == doctest::Approx(900).epsilon(0.07));
  CHECK(m.steps().quantile(0.5) == doctest::Approx(900).epsilon(0.07));
  CHECK(m.iterations().quantile(0.5) == doctest::Approx(1000).epsilon(0.07));
}

}  // namespace wick_test::stall_meter_tests
