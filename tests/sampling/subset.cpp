#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include "support/numbers.hpp"
#include <wick/core.hpp>
#include <wick/sampling/subset.hpp>

namespace wick_test::subset_tests {

using wick_test::contains;
using wick_test::message_of;
using wick_test::numbers;
using wick_test::targets_of;

namespace {

bool even(const wick_test::cell& c) { return c.target % 2 == 0; }
std::vector<std::uint64_t> evens(std::uint64_t n) {
  std::vector<std::uint64_t> out;
  for (std::uint64_t i = 0; i < n; i += 2) out.push_back(i);
  return out;
}

}  // namespace

TEST_CASE("by a predicate it is the same as by the indexes, at any worker and rank count, and asked once") {
  for (const std::size_t workers : {1, 4}) {
    for (const std::uint64_t ranks : {1, 2}) {
      for (std::uint64_t rank = 0; rank < ranks; ++rank) {
        const auto asked = std::make_shared<int>(0);
        const auto count = [asked](const wick_test::cell& c) { return ++*asked, even(c); };
        wick::loader by(numbers{101} | wick::subset(count) | wick::shuffle() | wick::shard(rank, ranks) |
                            wick::array_batch(8),
                        {.seed = 2, .workers = workers});
        wick::loader of(numbers{101} | wick::subset(evens(101)) | wick::shuffle() | wick::shard(rank, ranks) |
                            wick::array_batch(8),
                        {.seed = 2, .workers = workers});
        CHECK(by.samples() == 51);
        for (const std::uint64_t epoch : {0, 1}) CHECK(targets_of(by, epoch) == targets_of(of, epoch));
        CHECK(*asked == 101);
        by.load_state(of.state());
      }
    }
  }
}

TEST_CASE("a predicate goes before bucket() and pack() as indexes do") {
  const auto lengths = [] {
    std::vector<std::uint32_t> out;
    for (std::uint32_t i = 0; i < 101; ++i) out.push_back(1 + i * 7 % 5);
    return out;
  }();
  const auto text = [&](const wick_test::cell& c) {
    return wick::sample<std::vector<std::int64_t>>{
        std::vector<std::int64_t>(lengths[static_cast<std::size_t>(c.target)], c.target), c.target};
  };
  const auto bucketed = [&](auto kept) {
    wick::loader l(numbers{101} | std::move(kept) | wick::shuffle() | wick::bucket({.lengths = lengths}) |
                       text | wick::group(8),
                   {.seed = 2, .workers = 2});
    std::vector<std::vector<std::int64_t>> out;
    for (const std::uint64_t epoch : {0, 1}) {
      for (const auto& batch : l.epoch(epoch)) {
        out.emplace_back();
        for (const auto& one : batch) out.back().push_back(one.target);
      }
    }
    return out;
  };
  const auto by_indexes = bucketed(wick::subset(evens(101)));
  CHECK(by_indexes.size() == 14);
  for (const auto& batch : by_indexes)
    for (const std::int64_t target : batch) CHECK(target % 2 == 0);
  CHECK(bucketed(wick::subset(even)) == by_indexes);

  const auto packed = [&](auto kept) {
    wick::loader l(numbers{101} | std::move(kept) | wick::shuffle() | text |
                       wick::array_pack(4, 8, {.lengths = lengths}),
                   {.seed = 2, .workers = 2});
    std::vector<std::vector<std::int64_t>> out;
    for (const auto& batch : l.epoch(0)) {
      const auto* const first = batch.values.target.template as<std::int64_t>();
      out.emplace_back(first, first + batch.values.target.extents()[0]);
    }
    return out;
  };
  CHECK(packed(wick::subset(even)) == packed(wick::subset(evens(101))));
}

TEST_CASE("a predicate may take the data alone") {
  wick::loader l(wick::from(numbers{10}) | wick::subset([](const std::array<std::uint8_t, 8>& d) {
                   return d[0] < 3;
                 }) | wick::array_batch(8),
                 {.workers = 1});
  CHECK(targets_of(l, 0) == std::vector<std::vector<std::int64_t>>{{0, 1, 2}});
}

TEST_CASE("with another answer a state is refused, and with no sample there is no epoch") {
  const auto make = [](std::int64_t bound) {
    return wick::from(numbers{50}) |
           wick::subset([bound](const wick_test::cell& c) { return c.target < bound; }) |
           wick::array_batch(8);
  };
  wick::loader l(make(40), {.workers = 1}), other(make(41), {.workers = 1});
  CHECK(contains(message_of([&] { return other.load_state(l.state()), 0; }), "1st stage", "subset",
                 "other parameters"));
  CHECK(contains(message_of([&] { return wick::loader(make(0)).samples(); }), "empty"));
}

TEST_CASE("refresh() asks again") {
  struct growing : numbers {
    std::shared_ptr<std::uint64_t> now = std::make_shared<std::uint64_t>(10);
    std::uint64_t size() const { return *now; }
  };
  const growing source;
  wick::loader l(wick::from(source) | wick::subset(&even) | wick::array_batch(100), {.workers = 2});
  CHECK(targets_of(l, 0).front().size() == 5);
  *source.now = 40;
  l.refresh();
  CHECK(targets_of(l, 1).front().size() == 20);
}

TEST_CASE("a subset in a mix is refused, with the advice to take indexes") {
  CHECK(contains(message_of([] {
                   wick::mix(wick::weighted_source{wick::from(numbers{10}) | wick::subset(&even), 1.0});
                   return 0;
                 }),
                 "subset", "in mix() give indices"));
}

}  // namespace wick_test::subset_tests
