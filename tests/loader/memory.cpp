// loader_options::memory: what is counted, for how long, and that no bound is too small to go on.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include "support/numbers.hpp"
#include <wick/core.hpp>

using wick_test::cell;
using wick_test::numbers;

namespace {

constexpr std::size_t each = 1000;

wick::task<cell> takes(cell c, wick::context& context) {
  auto room = context.reserve(each);
  co_await room;
  if (context.position() % 3 == 0) co_await context.on()->schedule();
  co_return c;
}
cell takes_at_once(cell c, wick::context& context) {
  static_cast<void>(context.try_reserve(each));
  return c;
}

template <class Loader>
std::vector<std::int64_t> groups_of(Loader& l, std::uint64_t epoch) {
  std::vector<std::int64_t> out;
  for (auto& group : l.epoch(epoch)) {
    for (const auto& c : group) out.push_back(c.target);
  }
  return out;
}
std::vector<std::int64_t> all(std::int64_t n) {
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i < n; ++i) out.push_back(i);
  return out;
}

}  // namespace

TEST_CASE("samples that lie in their batch as they came count until the next batch is asked for") {
  wick::loader l(numbers{200} | wick::map("takes", &takes) | wick::group(10),
                 {.workers = 2, .memory = 35 * each, .prefetch_next_epoch = false});
  auto epoch = l.epoch(0);
  for (int batch = 0; batch < 20; ++batch) {
    auto group = epoch.next();
    REQUIRE(group);
    CHECK(group->size() == 10);
    CHECK(l.report().memory_used >= 10 * each);  // the one that was given, at least
  }
  CHECK_FALSE(epoch.next());
  CHECK(l.report().memory_used == 0);
  CHECK(l.peak_bytes_in_flight() <= 35 * each);
  CHECK(l.peak_bytes_in_flight() > 30 * each);
}

TEST_CASE("without batch(), samples count until those that were made with them are handed over") {
  wick::loader l(numbers{200} | wick::map("takes", &takes),
                 {.workers = 2, .memory = 100 * each, .prefetch_next_epoch = false});
  std::vector<std::int64_t> got;
  for (auto& c : l.epoch(0)) got.push_back(c.target);
  CHECK(got == all(200));
  CHECK(l.report().memory_used == 0);
  CHECK(l.peak_bytes_in_flight() <= 100 * each);
  CHECK(l.peak_bytes_in_flight() >= 16 * each);
}

TEST_CASE("samples that were copied into their batch do not count any more") {
  wick::loader l(numbers{200} | wick::map("takes", &takes) | wick::array_batch(50),
                 {.workers = 2, .memory = 1000 * each, .in_flight = 20, .prefetch_next_epoch = false});
  auto epoch = l.epoch(0);
  while (epoch.next()) {
  }
  CHECK(l.peak_bytes_in_flight() <= 20 * each);
}

TEST_CASE("a stage that makes something else of a group ends what its samples hold") {
  wick::loader l(numbers{200} | wick::map("takes", &takes) | wick::group(10) |
                     wick::map("count", [](std::vector<cell> group) { return group.size(); }),
                 {.workers = 2, .prefetch = 8, .memory = 1000 * each, .in_flight = 20,
                  .prefetch_next_epoch = false});
  std::size_t n = 0;
  for (const std::size_t count : l.epoch(0)) n += count;
  CHECK(n == 200);
  CHECK(l.peak_bytes_in_flight() < 80 * each);  // of the eight batches ahead
}

TEST_CASE("a bound that is less than a batch makes batches all the same, with the same samples") {
  for (const std::size_t memory : {std::size_t{1}, each, 4 * each, 11 * each, 25 * each}) {
    for (const std::size_t workers : {1, 3}) {
      wick::loader l(numbers{300} | wick::map("takes", &takes) | wick::group(10),
                     {.workers = workers, .memory = memory});
      for (std::uint64_t epoch = 0; epoch < 3; ++epoch) CHECK(groups_of(l, epoch) == all(300));
      CHECK(l.peak_bytes_in_flight() <= std::max(memory, 20 * each) + each);
    }
  }
}

TEST_CASE("what a plain stage takes counts as long as what a coroutine does") {
  wick::loader l(numbers{200} | wick::map("takes", &takes_at_once) | wick::group(10),
                 {.workers = 2, .memory = 1000 * each, .prefetch_next_epoch = false});
  CHECK(groups_of(l, 0) == all(200));
  CHECK(l.peak_bytes_in_flight() >= 10 * each);
  CHECK(l.report().memory_used == 0);
}

TEST_CASE("what was left, dropped, failed or made again gives back what it had") {
  struct stages {
    static wick::task<cell> fails(cell c, wick::context& context) {
      co_await context.on()->schedule();
      if (context.index() % 7 == 3) throw wick::error("no good");
      co_return c;
    }
  };
  wick::loader l(numbers{200} | wick::map("takes", &takes) | wick::map("fails", &stages::fails) |
                     wick::group(10),
                 {.workers = 2,
                  .memory = 60 * each,
                  .prefetch_next_epoch = false,
                  .on_error = wick::on_error(wick::skip)});
  for (std::uint64_t epoch = 0; epoch < 5; ++epoch) {
    std::size_t batches = 0;
    for (auto& group : l.epoch(epoch)) {
      CHECK(group.size() >= 8);
      if (++batches == epoch * 4) break;  // all of the first epoch
    }
    if (epoch == 1) CHECK(l.replay(0, 3).size() >= 8);
  }
  CHECK(groups_of(l, 5).size() == 200 - 29);
  CHECK(l.report().memory_used == 0);
  CHECK(l.peak_bytes_in_flight() <= 61 * each);
}
