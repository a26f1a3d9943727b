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
  grain p(1, wick::detail::nominal_rate);
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
  grain p(1, wick::detail::nominal_rate);
  CHECK(p.run_length(0) == 1);  // nothing is known yet
  for (const std::uint64_t each : {10u, 100u, 1'000u, 10'000u, 1'000'000u}) {
    CAPTURE(each);
    for (int i = 0; i < 100; ++i) p.learn(p.run_length(0), p.run_length(0) * each);
    const std::uint64_t n = p.run_length(0);
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

TEST_CASE("many workers take longer runs, where batches are large enough") {
  for (const std::size_t workers : {16u, 32u, 64u, 256u}) {
    CAPTURE(workers);
    grain p(workers, wick::detail::nominal_rate);
    for (int i = 0; i < 100; ++i) p.learn(4, 4 * 999);  // a mean of 1,000 ticks
    CHECK(p.run_length(0) == 40);
    CHECK(p.run_length(100'000) == 40 * workers / 16);
    CHECK(p.run_length(50) == (workers == 16 ? 40 : 50));
    CHECK(p.run_length_at_end(true) == 160);
    for (int i = 0; i < 20; ++i) p.learn(p.run_length(100'000), p.run_length(100'000) * 1'000);
    CHECK(p.short_samples());  // a long run isn't a long sample
  }
}

TEST_CASE("a mean follows slow changes, and stays for small ones") {
  grain p(1, wick::detail::nominal_rate);
  p.learn(1, 8);
  for (int i = 0; i < 100; ++i) p.learn(100, 100 * 15);
  CHECK(p.run_length(0) < 3'100);  // of some 14 ticks, not of 8
  for (int each = 15; each < 1'000; ++each) p.learn(100, 100 * static_cast<std::uint64_t>(each));
  CHECK(p.run_length(0) <= grain::run_ticks / 850);
  CHECK(p.run_length(0) >= grain::run_ticks / 1'000);
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
      grain there(1, rate), here(1, nominal_rate);
      const auto run = [nanoseconds](grain& g, std::uint64_t of) {
        const std::uint64_t n = g.run_length(0);
        g.learn(n, n * nanoseconds * (of / 1'000'000) / 1'000);
      };
      for (int i = 0; i < 200; ++i) run(there, rate), run(here, nominal_rate);
      CHECK(there.short_samples() == here.short_samples());
      CHECK(there.slow_samples() == here.slow_samples());
      CHECK(there.not_worth_a_wake(3) == here.not_worth_a_wake(3));
      CHECK(there.run_length(0) <= here.run_length(0) + here.run_length(0) / 8 + 1);
      CHECK(there.run_length(0) + there.run_length(0) / 8 + 1 >= here.run_length(0));
    }
  }
}

}  // namespace wick_test::grain_tests
