#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <set>
#include <vector>

#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include "support/numbers.hpp"
#include <wick/batch/batch.hpp>
#include <wick/loader/loader.hpp>
#include <wick/sampling/mix.hpp>

namespace wick_test::mix_tests {

using wick::mix_until;
using wick::weighted_source;
using wick_test::contains;
using wick_test::message_of;
using wick_test::numbers;

namespace {

/// The indexes of the joined source, for the positions [from, to).
template <class P>
std::vector<std::uint64_t> order_of(const P& mixed, std::uint64_t from, std::uint64_t to,
                                    std::uint64_t epoch = 0) {
  const auto order = wick::detail::get_stage<0>(mixed.stages).prepare(mixed.origin.size(), 1, epoch, 0);
  std::vector<std::uint64_t> out;
  for (std::uint64_t p = from; p < to; ++p) out.push_back(order(p));
  return out;
}
template <class P>
std::uint64_t size_of(const P& mixed) {
  return wick::detail::get_stage<0>(mixed.stages).size(mixed.origin.size());
}

}  // namespace

TEST_CASE(
    "turns are counted rightly at any position, spaced evenly, and never more than a turn or two off their "
    "share") {
  for (const auto& weights :
       {std::array<double, 3>{1, 1, 1}, std::array<double, 3>{5, 3, 2}, std::array<double, 3>{1e-6, 1, 1e6},
        std::array<double, 3>{0.333, 0.3331, 1e-3}, std::array<double, 3>{1e300, 1, 1}}) {
    const wick::detail::interleave<3> turns(weights);
    const double sum = weights[0] + weights[1] + weights[2];
    std::uint64_t count[3] = {};
    for (std::uint64_t p = 0; p < 20'000; ++p) {
      const auto t = turns.at(p);
      REQUIRE(t.number == count[t.source]++);
      for (std::size_t s = 0; s < 3; ++s) {
        REQUIRE(turns.count(s, p + 1) == count[s]);
        REQUIRE(std::abs(static_cast<double>(count[s]) - static_cast<double>(p + 1) * weights[s] / sum) < 2);
      }
    }
    for (std::size_t s = 0; s < 3; ++s) {
      const std::uint64_t p = turns.positions_for(s, 100);
      if (p == wick::detail::endless) continue;
      CHECK(turns.count(s, p) == 100);
      CHECK(turns.count(s, p - 1) == 99);
    }
  }
}

TEST_CASE("first_exhausted ends before any sample comes twice, with the shorter source used up") {
  const auto mixed = wick::mix(weighted_source{numbers{100}, 3}, weighted_source{numbers{10}, 1});
  const std::uint64_t n = size_of(mixed);
  auto order = order_of(mixed, 0, n);
  CHECK(std::count_if(order.begin(), order.end(), [](std::uint64_t i) { return i >= 100; }) == 10);
  std::vector<std::uint64_t> first;
  for (const std::uint64_t i : order) {
    if (i < 100) first.push_back(i);
  }
  CHECK(std::is_sorted(first.begin(), first.end()));
  CHECK(std::set<std::uint64_t>(order.begin(), order.end()).size() == n);
  // One position more would begin it again.
  CHECK(order_of(mixed, n, n + 1).front() == 100);
}

TEST_CASE("all_exhausted goes through each source once at least, and not a position further") {
  const auto mixed =
      wick::mix(mix_until::all_exhausted, weighted_source{numbers{30}, 1}, weighted_source{numbers{50}, 4});
  const std::uint64_t n = size_of(mixed);
  const auto all = order_of(mixed, 0, n), less = order_of(mixed, 0, n - 1);
  CHECK(std::set<std::uint64_t>(all.begin(), all.end()).size() == 80);
  CHECK(std::set<std::uint64_t>(less.begin(), less.end()).size() == 79);
  CHECK(n > 140);
}

TEST_CASE(
    "a source's own order is another one each time it begins again, and each epoch; every pass is complete") {
  const auto mixed = wick::mix(mix_until::forever, weighted_source{numbers{40} | wick::shuffle(), 1},
                               weighted_source{numbers{60} | wick::take(20) | wick::shuffle(), 1});
  CHECK(size_of(mixed) == wick::detail::endless);
  std::set<std::vector<std::uint64_t>> passes[2];
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    const auto order = order_of(mixed, 0, 800, epoch);
    std::vector<std::uint64_t> of[2];
    for (const std::uint64_t i : order) of[i >= 40].push_back(i >= 40 ? i - 40 : i);
    for (std::size_t s = 0; s < 2; ++s) {
      const std::uint64_t size = s == 0 ? 40 : 20;
      for (std::size_t at = 0; at + size <= of[s].size(); at += size) {
        std::vector<std::uint64_t> pass(of[s].begin() + static_cast<std::ptrdiff_t>(at),
                                        of[s].begin() + static_cast<std::ptrdiff_t>(at + size));
        passes[s].insert(pass);
        std::sort(pass.begin(), pass.end());
        bool whole = true;
        for (std::uint64_t i = 0; i < size; ++i) whole = whole && pass[i] == i;
        CHECK(whole);
      }
    }
  }
  CHECK(passes[0].size() == 30);
  CHECK(passes[1].size() == 60);
  // Far out, at once.
  CHECK(order_of(mixed, wick::detail::endless - 10, wick::detail::endless).size() == 10);
}

namespace {

/// A shuffle that counts for how many passes it is set up.
struct counted_shuffle : wick::detail::shuffle_stage {
  std::shared_ptr<std::atomic<std::uint64_t>> prepared = std::make_shared<std::atomic<std::uint64_t>>(0);
  wick::detail::permutation prepare(std::uint64_t n, std::uint64_t seed, std::uint64_t epoch,
                                    std::uint32_t stage) const {
    ++*prepared;
    return wick::detail::shuffle_stage::prepare(n, seed, epoch, stage);
  }
};

}  // namespace

TEST_CASE("a source's passes are set up once an epoch, in whatever order their positions are asked for") {
  const counted_shuffle small;
  const auto mixed = wick::mix(mix_until::all_exhausted, weighted_source{numbers{5'000} | wick::shuffle(), 1},
                               weighted_source{numbers{10} | small, 1}) |
                     wick::shuffle() | wick::array_batch(50);
  wick::loader l(mixed, {.workers = 2});
  CHECK(wick_test::targets_of(l, 0).size() == 200);
  CHECK(*small.prepared <= 2 * 501);  // 500 passes, and perhaps those of the next epoch
}

TEST_CASE("many positions at a time are mapped as each by itself, also after the passes that are kept") {
  const auto mixed =
      wick::mix(mix_until::all_exhausted, weighted_source{numbers{30'000} | wick::shuffle(), 1},
                weighted_source{numbers{3} | wick::shuffle(), 1});
  const auto& stage = wick::detail::get_stage<0>(mixed.stages);
  const auto order = stage.prepare(mixed.origin.size(), 1, 0, 0);
  std::vector<std::uint64_t> together(size_of(mixed));  // 10,000 passes of the second
  std::iota(together.begin(), together.end(), std::uint64_t{0});
  const std::vector<std::uint64_t> each = order_of(mixed, 0, together.size());
  for (std::size_t from = 0; from < together.size(); from += 77)
    order.map(together.data() + from, std::min<std::size_t>(77, together.size() - from));
  CHECK(together == each);
}

TEST_CASE("a mix goes through a loader, shuffled as a whole and shared by ranks") {
  const auto make = [](std::uint64_t rank, std::uint64_t world) {
    return wick::mix(weighted_source{numbers{300} | wick::shuffle(), 2},
                     weighted_source{numbers{100} | wick::shuffle(), 1}) |
           wick::shuffle() | wick::shard(rank, world) | wick::array_batch(12, {.drop_last = true});
  };
  wick::loader whole(make(0, 1), {.seed = 4, .workers = 2});
  const auto expected = wick_test::targets_of(whole, 1);
  CHECK(expected.size() == 25);
  std::vector<std::vector<std::int64_t>> together(expected.size());
  for (std::uint64_t rank = 0; rank < 3; ++rank) {
    wick::loader part(make(rank, 3), {.seed = 4, .workers = 2});
    const auto got = wick_test::targets_of(part, 1);
    for (std::size_t b = 0; b < got.size(); ++b)
      together[b].insert(together[b].end(), got[b].begin(), got[b].end());
  }
  CHECK(together == expected);
}

TEST_CASE("an epoch without end never stops by itself, and is left at any time") {
  wick::loader l(
      wick::mix(mix_until::forever, weighted_source{numbers{3}, 1}, weighted_source{numbers{5}, 1}) |
          wick::array_batch(4),
      {.workers = 2});
  auto epoch = l.epoch(0);
  for (int i = 0; i < 1000; ++i) REQUIRE(epoch.next());
}

TEST_CASE("weights and sources that make no sense are refused; what decides the order has a fingerprint") {
  const auto refused = [](double w) {
    return message_of([&] {
      return wick::mix(weighted_source{numbers{3}, 1}, weighted_source{numbers{3}, w});
    });
  };
  for (const double w : {-1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    CHECK(contains(refused(w), "mix: a weight of"));
  }
  CHECK(contains(message_of([] {
                   return wick::mix(weighted_source{numbers{3}, 1}, weighted_source{numbers{0}, 1});
                 }),
                 "the 2nd source", "empty"));
  const auto print = [](auto p) { return wick::detail::get_stage<0>(p.stages).fingerprint(); };
  const auto base = print(wick::mix(weighted_source{numbers{3}, 1}, weighted_source{numbers{4}, 1}));
  CHECK(base == print(wick::mix(weighted_source{numbers{3}, 1}, weighted_source{numbers{4}, 1})));
  CHECK(base != print(wick::mix(weighted_source{numbers{3}, 1}, weighted_source{numbers{4}, 2})));
  CHECK(base !=
        print(wick::mix(mix_until::forever, weighted_source{numbers{3}, 1}, weighted_source{numbers{4}, 1})));
  CHECK(base !=
        print(wick::mix(weighted_source{numbers{3} | wick::shuffle(), 1}, weighted_source{numbers{4}, 1})));
}

}  // namespace wick_test::mix_tests
