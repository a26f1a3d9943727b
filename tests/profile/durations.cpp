#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "../support/doctest.hpp"
#include <wick/profile/detail/durations.hpp>

namespace wick_test::durations_tests {

using wick::detail::duration_bins;
using wick::detail::duration_counts;
using wick::detail::durations;

TEST_CASE("every duration has a bin, in order, whose middle is within a sixteenth of it") {
  std::size_t before = 0;
  for (std::uint64_t t = 0; t < std::uint64_t{1} << 47; t += t / 100 + 1) {
    const std::size_t bin = duration_bins::of(t);
    REQUIRE(bin < duration_bins::count);
    REQUIRE(bin >= before);
    before = bin;
    const double error = duration_bins::middle(bin) - static_cast<double>(t);
    REQUIRE(std::abs(error) <= static_cast<double>(t) / 15 + 1e-9);
  }
  CHECK(duration_bins::of(~std::uint64_t{0}) == duration_bins::count - 1);
}

TEST_CASE("quantiles are within a bin of the sorted ones") {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> draw(10, 1.5);
  std::vector<std::uint64_t> all;
  durations d;
  for (int i = 0; i < 20'000; ++i) {
    all.push_back(static_cast<std::uint64_t>(draw(random)));
    d.add(all.back());
  }
  std::sort(all.begin(), all.end());
  CHECK(d.count() == all.size());
  for (const double q : {0.01, 0.1, 0.5, 0.9, 0.99, 0.999}) {
    const auto exact =
        static_cast<double>(all[static_cast<std::size_t>(q * static_cast<double>(all.size()))]);
    CHECK(d.quantile(q) == doctest::Approx(exact).epsilon(0.1));
  }
}

TEST_CASE("more than four thousand million durations of one size are all counted") {
  durations d;
  d.add(100);
  d.add(100'000);
  d.add(100'000);
  durations doubled = d;
  for (int i = 0; i < 32; ++i) doubled.add(durations(doubled));
  CHECK(doubled.count() == std::uint64_t{3} << 32);
  CHECK_FALSE(doubled.none());
  CHECK(doubled.quantile(0.5) == doctest::Approx(d.quantile(0.5)));
  CHECK(doubled.mean() == doctest::Approx(d.mean()));
  CHECK(doubled.since(d).count() == (std::uint64_t{3} << 32) - 3);
  CHECK(doubled.with(durations()).count() == doubled.count());
}

TEST_CASE("of none every quantile is zero, and of one it is that one") {
  durations d;
  CHECK(d.quantile(0.5) == 0);
  CHECK(d.mean() == 0);
  d.add(5);
  CHECK(d.quantile(0) == 5);
  CHECK(d.quantile(0.5) == 5);
  CHECK(d.quantile(1) == 5);
}

TEST_CASE("the difference from an earlier value is the part added in between") {
  duration_counts counts;
  for (int i = 0; i < 10; ++i) counts.add(100);
  durations before;
  before.add(counts);
  for (int i = 0; i < 5; ++i) counts.add(100'000);
  durations after;
  after.add(counts);
  const durations since = after.since(before);
  CHECK(since.count() == 5);
  CHECK(since.quantile(0.01) > 90'000);
}

TEST_CASE("moves are put to the counts that they are of, which may have been read before or after") {
  duration_counts times, turns;
  durations early, moves, all;
  for (const std::uint64_t ticks : {100, 1000, 1000, 50'000}) times.add(ticks);
  early.add(times);
  CHECK(moves.none());
  times.add(80'000);
  turns.move(80'000, 1000);
  turns.move(50'000, 50'100);  // of one bin
  moves.add(turns);
  all.add(times);
  CHECK_FALSE(moves.none());
  CHECK(all.with(moves).count() == 5);
  CHECK(all.with(moves).quantile(0.5) == doctest::Approx(1000).epsilon(0.07));
  CHECK(all.with(moves).quantile(1) == doctest::Approx(50'000).epsilon(0.07));
  CHECK(early.with(moves).count() == 5);  // and no bin has fewer than none
  CHECK(early.with(moves).quantile(1) == doctest::Approx(50'000).epsilon(0.07));
  CHECK(all.since(early).with(moves.since(durations())).quantile(1) == doctest::Approx(1000).epsilon(0.07));
}

TEST_CASE("multiples keep the mean, also of a tail that is thinner than a step") {
  durations d;
  for (int i = 0; i < 100'000; ++i) d.add(1000 + static_cast<std::uint64_t>(i % 500));
  for (int i = 0; i < 10; ++i) d.add(10'000'000);
  const auto m = d.multiples(1000);
  REQUIRE(m.size() == 1000);
  double sum = 0;
  for (const float x : m) sum += static_cast<double>(x);
  CHECK(sum / 1000 == doctest::Approx(1).epsilon(0.001));
  CHECK(std::is_sorted(m.begin(), m.end()));
}

TEST_CASE("what is about constant has no multiples") {
  durations d;
  for (int i = 0; i < 100; ++i) d.add(1000);
  CHECK(d.multiples(100).empty());
}

}  // namespace wick_test::durations_tests
