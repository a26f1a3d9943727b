#include <cstddef>
#include <cstdint>
#include <vector>

#include "../support/doctest.hpp"
#include <wick/loader/detail/prefetch_choice.hpp>

namespace wick_test::prefetch_choice_tests {

using wick::detail::prefetch_choice;

namespace {

/// Runs of a worker that `had` some, of 200 samples each, where depth i takes cost[i] ticks a sample; how
/// often each was used.
std::vector<std::uint64_t> use(prefetch_choice& c, std::uint64_t& had, const std::vector<std::uint64_t>& cost,
                               std::uint64_t runs) {
  std::vector<std::uint64_t> used(cost.size());
  for (std::uint64_t i = 0; i < runs; ++i) {
    const std::size_t which = c.next(had);
    ++used[which];
    // One run in ten is interrupted.
    c.learn(which, 200, cost[which] * 200 + (i % 10 == 3 ? 150'000 : 0));
  }
  return used;
}

}  // namespace

TEST_CASE("whichever depth is fastest is soon used for nearly all runs") {
  for (std::size_t fastest = 0; fastest < prefetch_choice::all.size(); ++fastest) {
    CAPTURE(fastest);
    prefetch_choice c;
    std::uint64_t had = 0;
    std::vector<std::uint64_t> cost(prefetch_choice::all.size(), 100);
    cost[fastest] = 80;
    const auto used = use(c, had, cost, 10'000);
    CHECK(c.best() == fastest);
    CHECK(used[fastest] > 9'700);
    for (const std::uint64_t n : used) CHECK(n >= prefetch_choice::first_runs);
  }
}

TEST_CASE("another depth is used when it becomes the fastest, and none for a difference that is none") {
  prefetch_choice c;
  std::uint64_t had = 0;
  use(c, had, {80, 100, 100, 100}, 5'000);
  CHECK(c.best() == 0);
  use(c, had, {100, 100, 60, 100}, 20'000);
  CHECK(c.best() == 2);
  use(c, had, {100, 100, 61, 60}, 20'000);
  CHECK(c.best() == 2);
}

TEST_CASE("a depth that becomes slow is left for one that was a little slower") {
  prefetch_choice c;
  std::uint64_t had = 0;
  use(c, had, {80, 100, 100, 100}, 5'000);
  CHECK(c.best() == 0);
  use(c, had, {130, 100, 100, 100}, 20'000);
  CHECK(c.best() != 0);
}

TEST_CASE("other depths are tried now and then, although nothing disturbs the best one") {
  prefetch_choice c;
  std::uint64_t had = 0;
  const auto run = [&](std::uint64_t of_depth_2) {
    const std::size_t which = c.next(had);
    c.learn(which, 200, 200 * (which == 0 ? 80 : which == 2 ? of_depth_2 : 100));
  };
  for (int i = 0; i < 5'000; ++i) run(100);
  CHECK(c.best() == 0);
  for (int i = 0; i < 5'000; ++i) run(60);
  CHECK(c.best() == 2);
}

TEST_CASE("times that scatter don't leave a depth that is a tenth faster") {
  prefetch_choice c;
  std::uint64_t had = 0;
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    const std::size_t which = c.next(had);
    const std::uint64_t each = (which == 2 ? 900 : 1'000) + i * 7919 % 61;  // 6 % more at most
    c.learn(which, 200, each * 200);
    if (i > 1'000) CHECK(c.best() == 2);
  }
}

TEST_CASE("short runs teach nothing") {
  prefetch_choice c;
  for (int i = 0; i < 1000; ++i) c.learn(1, 3, 1);
  CHECK(c.best() == 0);
}

TEST_CASE("no depth looks further ahead than the loader can") {
  for (const auto& d : prefetch_choice::all) CHECK(d.samples <= prefetch_choice::most_samples);
}

}  // namespace wick_test::prefetch_choice_tests
