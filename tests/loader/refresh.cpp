// Data that changes between epochs, with refresh() in between: each epoch is that of a loader made at that
// moment.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "loader/elastic.hpp"
#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include "support/numbers.hpp"
#include <wick/core.hpp>

namespace wick_test::refresh_tests {

TEST_CASE("after refresh() an epoch is that of a new loader, at any worker and rank count") {
  for (const std::size_t workers : {1, 4}) {
    for (const bool ahead : {false, true}) {
      for (const std::uint64_t ranks : {1, 2, 4}) {
        std::vector<elastic> sources;
        std::vector<std::vector<std::vector<std::int64_t>>> together;
        for (std::uint64_t rank = 0; rank < ranks; ++rank) {
          const elastic source(50);
          wick::loader l(source | wick::shuffle() | wick::shard(rank, ranks) | wick::array_batch(12),
                         {.seed = 3, .workers = workers, .prefetch_next_epoch = ahead});
          std::uint64_t epoch = 0;
          for (const std::uint64_t n : {50, 70, 70, 31, 400, 13}) {
            *source.now = n;
            l.refresh();
            CHECK(l.samples() == n);
            const auto expected = fresh(
                elastic(n) | wick::shuffle() | wick::shard(rank, ranks) | wick::array_batch(12), epoch, 3);
            CHECK(targets_of(l, epoch++) == expected);
          }
        }
      }
    }
  }
}

TEST_CASE("prefetched batches are dropped, whenever refresh() comes, and nothing is lost or comes twice") {
  for (const std::size_t workers : {1, 4}) {
    const elastic source(40);
    wick::loader l(source | wick::shuffle() | wick::array_batch(8),
                   {.seed = 9, .workers = workers, .prefetch = 3});
    std::uint64_t n = 40, epoch = 0;
    for (int i = 0; i < 200; ++i) {
      // From the first refresh() on the source may change whenever no epoch is under way.
      const auto batches = targets_of(l, epoch);
      CHECK(batches == fresh(elastic(n) | wick::shuffle() | wick::array_batch(8), epoch, 9));
      n = 20 + (n * 7 + 5) % 50;
      if (i % 3 == 0) ++epoch;
      *source.now = n;
      l.refresh();
      if (i % 5 == 0) l.refresh();
    }
  }
}

TEST_CASE("without refresh() a source that has grown is refused, and the message says what to call") {
  const elastic source(40);
  wick::loader l(source | wick::array_batch(8), {.workers = 1});
  CHECK(targets_of(l, 0).size() == 5);
  *source.now = 48;
  CHECK(contains(message_of([&] { return l.epoch(1); }), "40 samples when this loader was made", "has 48 now",
                 "call refresh()"));
  l.refresh();
  CHECK(targets_of(l, 1).size() == 6);
  *source.now = 8;
  CHECK(contains(message_of([&] { return l.epoch(2); }), "48 samples at the last refresh()", "has 8 now"));
}

TEST_CASE("refresh() in the middle of an epoch ends it there") {
  for (const bool ahead : {false, true}) {
    const elastic source(80);
    wick::loader l(source | wick::shuffle() | wick::array_batch(8),
                   {.workers = 2, .prefetch = 4, .prefetch_next_epoch = ahead});
    std::size_t taken = 0;
    for ([[maybe_unused]] auto& batch : l.epoch(0)) {
      if (++taken == 3) l.refresh();
    }
    CHECK(taken == 3);
    CHECK(!l.next());
    CHECK(l.current_epoch() == 0);
    CHECK(targets_of(l, 1) == fresh(elastic(80) | wick::shuffle() | wick::array_batch(8), 1, 0));
    l.epoch(2);
    REQUIRE(l.next());
    l.refresh();
    CHECK(targets_of(l, 2) == fresh(elastic(80) | wick::shuffle() | wick::array_batch(8), 2, 0));
  }
}

TEST_CASE("a round is drawn by the weights that there were at its refresh(), whatever is set meanwhile") {
  for (const std::size_t workers : {1, 4}) {
    wick::weights w(std::vector<double>(100, 1.0));
    const viewed source(100);
    wick::loader l(source | wick::weighted(w, {.samples = 64}) | wick::array_batch(16),
                   {.seed = 5, .workers = workers});
    std::vector<double> values(100, 1.0);
    for (std::uint64_t round = 0; round < 60; ++round) {
      for (int i = 0; i < 10; ++i) {
        values.push_back(static_cast<double>(round % 3));
        w.push_back(values.back());
      }
      for (std::uint64_t i = 0; i < values.size(); i += 7)
        w.set(i, values[i] = static_cast<double>((i + round) % 5));
      *source.now = values.size();
      l.refresh();
      const std::vector<double> then = values;
      std::vector<std::vector<std::int64_t>> got;
      for (auto& batch : l.epoch(round)) {
        const std::int64_t* const t = batch.target.as<std::int64_t>();
        got.emplace_back(t, t + 16);
        for (const std::int64_t i : got.back()) CHECK(then.at(static_cast<std::size_t>(i)) > 0);
        // None of this is of this round.
        for (std::uint64_t i = 0; i < values.size(); i += 3) w.set(i, values[i] = 0.25);
        values.push_back(1e6);
        w.push_back(1e6);
        *source.now = values.size();
      }
      CHECK(got == fresh(elastic(then.size()) | wick::weighted(wick::weights(then), {.samples = 64}) |
                             wick::array_batch(16),
                         round, 5));
    }
  }
}

TEST_CASE("what a source's refresh() returns is kept until the weights are taken") {
  const viewed source(10);
  const auto seen = std::make_shared<std::atomic<int>>(0);
  wick::loader l(wick::from(source) | watched_stage{source.held, seen} | wick::array_batch(5),
                 {.workers = 1});
  CHECK(seen->load() == 1);
  l.refresh();
  CHECK(seen->load() == 2);
  CHECK(source.held->load() == 0);
}

TEST_CASE("refresh() without batch()") {
  const elastic source(20);
  wick::loader l(source | wick::shuffle(), {.workers = 2});
  const auto count = [&](std::uint64_t epoch) {
    std::size_t n = 0;
    for ([[maybe_unused]] auto& s : l.epoch(epoch)) ++n;
    return n;
  };
  CHECK(count(0) == 20);
  *source.now = 45;
  l.refresh();
  CHECK(count(1) == 45);
  l.epoch(2);
  for (int i = 0; i < 5; ++i) REQUIRE(l.next());
  l.refresh();
  CHECK(!l.next());
  CHECK(count(2) == 45);
}

TEST_CASE("from the first refresh() on no thread looks at the source beyond the end of an epoch") {
  const elastic source(40);
  wick::loader l(source | wick::array_batch(8), {.workers = 2});
  l.refresh();
  for (std::uint64_t epoch = 0; epoch < 20; ++epoch) {
    CHECK(targets_of(l, epoch).size() == 5);
    CHECK(source.asked->load() == 40 * (epoch + 1));
  }
}

}  // namespace wick_test::refresh_tests
