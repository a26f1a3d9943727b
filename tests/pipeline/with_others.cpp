// with_others() and join() in a loader: who goes into whom is the same on any number of workers and ranks,
// and through a resume.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "../support/numbers.hpp"
#include <wick/core.hpp>
#include <wick/pipeline/with_others.hpp>

namespace wick_test::with_others_tests {

namespace {

/// What is drawn by a sample before it meets others.
void add_noise(cell& c, wick::context& context) {
  for (auto& byte : c.data) byte = static_cast<std::uint8_t>(context.random()());
}

}  // namespace

TEST_CASE("the same samples meet at any worker and rank count, and through a resume onto others") {
  constexpr std::uint64_t n = 200;
  const auto check = [&](auto before) {
    const auto stages = before | wick::with_others(2) | wick::join(digits);
    wick::loader alone(numbers{n} | wick::shuffle() | wick::shard(0, 1) | stages | wick::array_batch(24),
                       {.seed = 8, .workers = 1});
    const batches expected = targets_of(alone, 1);
    CHECK(targets_of(alone, 2) != expected);
    for (const std::size_t workers : {1, 4}) {
      for (const std::uint64_t ranks : {1, 2, 4}) {
        batches together(expected.size()), resumed(expected.size());
        std::vector<std::byte> state;
        constexpr std::size_t stop = 4;
        {
          wick::loader l(numbers{n} | wick::shuffle() | wick::shard(0, 1) | stages | wick::array_batch(24),
                         {.seed = 8, .workers = workers});
          l.epoch(1);
          const batches first = rest_of(l, stop);
          std::copy(first.begin(), first.end(), resumed.begin());
          state = l.state();
        }
        for (std::uint64_t rank = 0; rank < ranks; ++rank) {
          const auto sharded =
              numbers{n} | wick::shuffle() | wick::shard(rank, ranks) | stages | wick::array_batch(24);
          wick::loader l(sharded, {.seed = 8, .workers = workers, .prefetch = 1 + rank});
          const batches mine = targets_of(l, 1);
          REQUIRE(mine.size() == expected.size());
          for (std::size_t k = 0; k < mine.size(); ++k)
            together[k].insert(together[k].end(), mine[k].begin(), mine[k].end());
          wick::loader again(sharded, {.seed = 8, .workers = 5 - workers});
          again.load_state(state);
          const batches rest = rest_of(again);
          REQUIRE(rest.size() == expected.size() - stop);
          for (std::size_t k = 0; k < rest.size(); ++k)
            resumed[stop + k].insert(resumed[stop + k].end(), rest[k].begin(), rest[k].end());
        }
        CHECK(together == expected);
        CHECK(resumed == expected);
      }
    }
  };
  check(wick::map([](cell) {}) | wick::map(add_noise));
  check(wick::map(slowly) | wick::map(add_noise));
}

TEST_CASE("others are of the epoch: what subset() leaves, each about as often") {
  const std::vector<std::uint64_t> some = {3, 5, 8, 13, 21};
  wick::loader l(numbers{100} | wick::subset(some) | wick::repeat(400) | wick::with_others(1) |
                     wick::join(digits) | wick::array_batch(100),
                 {.seed = 3});
  std::vector<int> seen(1000);
  for (const auto& batch : targets_of(l, 0)) {
    for (const std::int64_t t : batch) ++seen[static_cast<std::size_t>(t % 1000)];
  }
  int all = 0;
  for (const std::uint64_t index : some) {
    CHECK(seen[index] > 320);  // 400 of 2000, deviation 18
    CHECK(seen[index] < 480);
    all += seen[index];
  }
  CHECK(all == 2000);
}

TEST_CASE("each other has random numbers of its own, also where it is the same sample") {
  const auto note = [](cell own, std::vector<cell>& others) {
    std::set<std::array<std::uint8_t, 8>> seen{own.data};
    for (const cell& c : others) seen.insert(c.data);
    own.target = static_cast<std::int64_t>(seen.size());
    return own;
  };
  wick::loader l(numbers{1} | wick::repeat(50) | wick::map(add_noise) | wick::with_others(5) |
                     wick::join(note) | wick::array_batch(50),
                 {.seed = 3});
  const batches came = targets_of(l, 0);
  for (const std::int64_t t : came.at(0)) CHECK(t == 6);
}

TEST_CASE("with a probability some samples stay alone, and others can have others") {
  const auto count = [](cell own, std::vector<cell>& others) {
    std::int64_t sum = 1;
    for (const cell& c : others) sum += c.target;
    own.target = sum;
    return own;
  };
  const auto one = [](cell c) {
    c.target = 1;
    return c;
  };
  wick::loader l(numbers{2000} | wick::map(one) | wick::with_others(3, {.p = 0.25}) | wick::join(count) |
                     wick::with_others(1) | wick::join("twice", count) | wick::array_batch(2000),
                 {.seed = 3});
  int two = 0, all = 0;
  const batches came = targets_of(l, 0);
  for (const std::int64_t t : came.at(0)) {
    CHECK((t == 2 || t == 5));  // one, and another of 1 or 4
    two += t == 2;
    ++all;
  }
  CHECK(all == 2000);
  CHECK(two > 1400);  // 1500, deviation 19
  CHECK(two < 1600);
}

TEST_CASE("an other that filter() leaves out is drawn again; a filter that keeps none is an error") {
  const auto odd = [](const cell& c) { return c.target % 2 != 0; };
  wick::loader l(
      numbers{100} | wick::filter(odd) | wick::with_others(2) | wick::join(digits) | wick::array_batch(10),
      {.seed = 3});
  std::size_t samples = 0;
  for (const auto& batch : targets_of(l, 0)) {
    samples += batch.size();
    for (std::int64_t t : batch) {
      for (; t != 0; t /= 1000) CHECK(t % 2 == 1);
    }
  }
  CHECK(samples == 50);
  CHECK(l.filtered() == 50);

  const auto only_one = [](const cell& c, wick::context& at) {
    return c.target == 0 && at.position() == 0 && c.data[0] == 0;
  };
  wick::loader none(numbers{10000} | wick::filter(only_one) | wick::with_others(1) | wick::join(digits) |
                        wick::array_batch(10),
                    {.seed = 3});
  CHECK(contains(message_of([&] { targets_of(none, 0); }), "filter() left out all of them"));
}

TEST_CASE("items that can only be moved meet, too") {
  struct moved {
    std::unique_ptr<int> held;
  };
  struct ones {
    std::uint64_t size() const { return 7; }
    moved at(std::uint64_t i) const { return {std::make_unique<int>(static_cast<int>(i))}; }
  };
  wick::loader l(ones{} | wick::shuffle() | wick::with_others(3) | wick::join([](moved own, auto& others) {
                   for (moved& other : others) own.held.reset(new int(*own.held * 10 + *other.held));
                   return own;
                 }),
                 {.seed = 3});
  int samples = 0;
  for (moved& m : l.epoch(0)) {
    ++samples;
    CHECK(*m.held < 7000);
  }
  CHECK(samples == 7);
}

TEST_CASE("others are of what there is since the last refresh()") {
  struct growing : numbers {
    std::shared_ptr<std::atomic<std::uint64_t>> now = std::make_shared<std::atomic<std::uint64_t>>(5);
    std::uint64_t size() const { return *now; }
  };
  const auto stages = wick::with_others(4) | wick::join(digits) | wick::array_batch(50);
  growing source;
  source.count = 1000;
  wick::loader l(source | wick::shuffle() | stages, {.seed = 3, .prefetch_next_epoch = false});
  for (const auto& batch : targets_of(l, 0)) {
    for (std::int64_t t : batch) {
      for (; t != 0; t /= 1000) CHECK(t % 1000 < 5);
    }
  }
  *source.now = 900;
  l.refresh();
  const batches grown = targets_of(l, 1);
  wick::loader anew(source | wick::shuffle() | stages, {.seed = 3, .workers = 1});
  CHECK(grown == targets_of(anew, 1));
  std::set<std::int64_t> seen;
  for (const auto& batch : grown) {
    for (const std::int64_t t : batch) seen.insert(t % 1000);
  }
  CHECK(seen.size() > 400);  // of 900 that were drawn from 900, about 569
}

TEST_CASE("numbers that make no sense are refused, and a change is no resume") {
  CHECK(contains(message_of([] { wick::with_others(0); }), "0 others"));
  CHECK(contains(message_of([] { wick::with_others(65); }), "65 others"));
  CHECK(contains(message_of([] { wick::with_others(1, {.p = 1.5}); }), "p = 1.5"));
  CHECK(wick::with_others(1).fingerprint() != wick::with_others(2).fingerprint());
  CHECK(wick::with_others(1).fingerprint() != wick::with_others(1, {.p = 0.5}).fingerprint());
}

}  // namespace wick_test::with_others_tests
