#include <algorithm>
#include <cstdint>

#include "support/doctest.hpp"
#include <wick/async/detail/grain.hpp>

namespace wick_test::grain_tests {

using wick::detail::grain;

namespace {

constexpr std::uint64_t microsecond = 2'500;  // nominal ticks

void learn(grain& p, int runs, std::uint64_t ticks) {
  for (int i = 0; i < runs; ++i) p.learn(1, ticks);
}

}  // namespace

TEST_CASE("the consumer may take part in short samples, not in those that are long, all or again and again") {
  grain p(wick::detail::nominal_rate);
  learn(p, 100, 2 * microsecond);
  CHECK(p.short_samples());
  p.learn(1, 5'000 * microsecond);  // its thread was without a processor
  learn(p, 100, 2 * microsecond);
  CHECK(p.short_samples());
  for (int i = 0; i < 10; ++i) {  // one in 101
    p.learn(1, 200 * microsecond);
    learn(p, 100, 2 * microsecond);
  }
  CHECK(!p.short_samples());
  learn(p, 500, 2 * microsecond);
  CHECK(!p.short_samples());  // they may come again
  learn(p, 2'000, 2 * microsecond);
  CHECK(p.short_samples());
  for (int i = 0; i < 10; ++i) {  // one in 501
    p.learn(1, 200 * microsecond);
    learn(p, 500, 2 * microsecond);
    CHECK(p.short_samples());
  }
  learn(p, 100, 20 * microsecond);
  CHECK(!p.short_samples());
}

TEST_CASE(
    "runs are as long as claiming them costs little, and short samples in them are not taken for a long "
    "one") {
  grain p(wick::detail::nominal_rate);
  CHECK(p.run_length() == 1);  // nothing is known yet
  for (const std::uint64_t each : {10u, 100u, 1'000u, 10'000u, 1'000'000u}) {
    CAPTURE(each);
    for (int i = 0; i < 100; ++i) p.learn(p.run_length(), p.run_length() * each);
    const std::uint64_t n = p.run_length();
    CHECK(n >= 1);
    CHECK(n <= grain::max_run);
    CHECK((n == 1 || n * each <= grain::run_ticks * 9 / 8));  // the mean is one of whole numbers
    CHECK((n == grain::max_run || (n + 1) * (each + 2) > grain::run_ticks));
    CHECK(p.run_length_at_end(false) == std::min(n + n / 2, grain::max_run));
    CHECK(p.run_length_at_end(true) == std::min(4 * n, grain::max_run));
    CHECK(p.short_samples() == (each <= 10'000));
    CHECK(p.slow_samples() == (each > 10'000));
  }
}

TEST_CASE("runs are as long in seconds whatever the counter's rate, as on 64-bit ARM") {
  using wick::detail::in_ticks, wick::detail::nominal_rate;
  CHECK(wick::detail::tick_rate() > 0);
  for (const std::uint64_t rate : {24'000'000u, 25'000'000u, 54'000'000u, 100'000'000u, 1'000'000'000u}) {
    CAPTURE(rate);
    CHECK(in_ticks(nominal_rate, rate) == rate);
    CHECK(in_ticks(1, rate) == 1);
    CHECK(in_ticks(100 * nominal_rate + nominal_rate / 2, rate) == 100 * rate + rate / 2);
    for (const std::uint64_t nanoseconds : {100u, 2'000u, 9'000u, 20'000u, 1'000'000u}) {
      CAPTURE(nanoseconds);
      grain there(rate), here(nominal_rate);
      const auto run = [nanoseconds](grain& g, std::uint64_t of) {
        const std::uint64_t n = g.run_length();
        g.learn(n, n * nanoseconds * (of / 1'000'000) / 1'000);
      };
      for (int i = 0; i < 200; ++i) run(there, rate), run(here, nominal_rate);
      CHECK(there.short_samples() == here.short_samples());
      CHECK(there.slow_samples() == here.slow_samples());
      CHECK(there.not_worth_a_wake(3) == here.not_worth_a_wake(3));
      CHECK(there.run_length() <= here.run_length() + here.run_length() / 8 + 1);
      CHECK(there.run_length() + there.run_length() / 8 + 1 >= here.run_length());
    }
  }
}

}  // namespace wick_test::grain_tests
