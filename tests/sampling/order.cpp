#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include "support/variable.hpp"
#include <wick/sampling/order.hpp>

namespace wick_test::order_tests {

static_assert(wick::ext::order_stage<wick::detail::shuffle_stage>);
static_assert(wick::ext::order_stage<wick::detail::shuffle_once_stage>);
static_assert(wick::ext::order_stage<wick::detail::shard_stage>);
static_assert(wick::ext::order_stage<wick::detail::take_stage>);
static_assert(wick::ext::order_stage<wick::detail::skip_stage>);
static_assert(wick::ext::order_stage<wick::detail::subset_stage>);
static_assert(wick::ext::order_stage<wick::detail::repeat_stage>);

using wick_test::contains;
using wick_test::message_of;
using wick_test::variable;

static_assert(wick::ext::order_stage<wick::detail::shuffle_stage>);
static_assert(!wick::ext::order_stage<int>);

namespace {

template <class Stage>
std::vector<std::uint64_t> order_of(const Stage& stage, std::uint64_t n, std::uint64_t epoch = 0) {
  const auto order = stage.prepare(n, 1, epoch, 0);
  std::vector<std::uint64_t> out;
  for (std::uint64_t p = 0; p < stage.size(n); ++p) out.push_back(order(p));
  return out;
}

std::vector<std::uint64_t> range(std::uint64_t from, std::uint64_t to) {
  std::vector<std::uint64_t> out(to - from);
  std::iota(out.begin(), out.end(), from);
  return out;
}

}  // namespace

TEST_CASE("shuffle is a permutation, another each epoch, the same when asked again") {
  auto order = order_of(wick::shuffle(), 1000, 3);
  CHECK(order == order_of(wick::shuffle(), 1000, 3));
  CHECK(order != order_of(wick::shuffle(), 1000, 4));
  std::sort(order.begin(), order.end());
  CHECK(order == range(0, 1000));
}

TEST_CASE("take and skip part the positions in two") {
  for (const std::uint64_t n : {1, 9, 10, 11, 100}) {
    for (const std::uint64_t at : {0, 1, 10, 1000}) {
      auto both = order_of(wick::take(at), n);
      CHECK(both == range(0, std::min(at, n)));
      const auto rest = order_of(wick::skip(at), n);
      both.insert(both.end(), rest.begin(), rest.end());
      CHECK(both == range(0, n));
    }
  }
}

TEST_CASE("a subset is its indices in their order, and one that is not there is refused with its number") {
  CHECK(order_of(wick::subset({7, 0, 7, 3}), 8) == std::vector<std::uint64_t>{7, 0, 7, 3});
  CHECK(order_of(wick::subset({}), 8).empty());
  CHECK(contains(message_of([] { return wick::subset({0, 8, 2}).size(8); }), "index 8 of 8 samples"));
}

TEST_CASE("repeat goes over the positions again and again, without overflow, and without end when asked") {
  auto twice = range(0, 5);
  const auto again = range(0, 5);
  twice.insert(twice.end(), again.begin(), again.end());
  CHECK(order_of(wick::repeat(2), 5) == twice);
  CHECK(order_of(wick::repeat(7), 0).empty());
  CHECK(wick::repeat().size(3) == wick::detail::endless);
  CHECK(wick::repeat(~std::uint64_t{0}).size(3) == wick::detail::endless);
  CHECK(wick::repeat().prepare(3, 1, 0, 0)(wick::detail::endless - 1) == (wick::detail::endless - 1) % 3);
  CHECK(contains(message_of([] { return wick::repeat(0); }), "repeat()"));
}

TEST_CASE("order stages with parameters have a fingerprint of them") {
  CHECK(wick::take(5).fingerprint() != wick::take(6).fingerprint());
  CHECK(wick::shuffle_once(5).fingerprint() != wick::shuffle_once(6).fingerprint());
  CHECK(wick::skip(5).fingerprint() != wick::skip(6).fingerprint());
  CHECK(wick::repeat(5).fingerprint() != wick::repeat(6).fingerprint());
  CHECK(wick::subset({1, 2}).fingerprint() != wick::subset({2, 1}).fingerprint());
  CHECK(wick::subset({1, 2}).fingerprint() == wick::subset({1, 2}).fingerprint());
}

TEST_CASE("sharding moves no position") { CHECK(order_of(wick::shard(1, 3), 10) == range(0, 10)); }

TEST_CASE("a rank that is not below the world size is refused with both") {
  CHECK(message_of([] { return wick::shard(0, 1); }).empty());
  CHECK(message_of([] { return wick::shard(7, 8); }).empty());
  CHECK(contains(message_of([] { return wick::shard(8, 8); }), "rank 8 of 8 ranks", "0 to world size - 1"));
  CHECK(contains(message_of([] { return wick::shard(0, 0); }), "rank 0 of 0 ranks"));
}

TEST_CASE("shard() takes rank and world size from the environment, as torchrun sets them") {
  const variable rank("RANK", "3"), world("WORLD_SIZE", "4");
  CHECK(wick::shard().rank == 3);
  CHECK(wick::shard().world == 4);
}

TEST_CASE("shard() outside of torchrun is one rank") {
  for (const char* unset : {static_cast<const char*>(nullptr), ""}) {
    const variable rank("RANK", unset), world("WORLD_SIZE", unset);
    CHECK(wick::shard().rank == 0);
    CHECK(wick::shard().world == 1);
  }
}

TEST_CASE("an environment that makes no sense is refused with the variable and what it holds") {
  for (const char* bad :
       {"-1", "two", "4x", "4 ", " 4", " -1", "+4", "0x4", "1e1", "99999999999999999999999", "4\n"}) {
    const variable rank("RANK", "0"), world("WORLD_SIZE", bad);
    CAPTURE(bad);
    CHECK(contains(message_of([] { return wick::shard(); }), "WORLD_SIZE=", "shard(rank, world)"));
  }
  const variable rank("RANK", "5\x1B[2J"), world("WORLD_SIZE", "8");
  CHECK(contains(message_of([] { return wick::shard(); }), "RANK=5\\x1b[2J"));
}

TEST_CASE("a rank without its world is refused, not taken for the only one") {
  const variable rank("RANK", "2"), world("WORLD_SIZE", nullptr);
  CHECK(contains(message_of([] { return wick::shard(); }), "RANK=2", "WORLD_SIZE is not set"));
  const variable other("WORLD_SIZE", "2");
  CHECK(contains(message_of([] { return wick::shard(); }), "RANK=2 and WORLD_SIZE=2", "torchrun"));
}

TEST_CASE("a world without a rank is refused, for each process of it would be the first") {
  for (const char* unset : {static_cast<const char*>(nullptr), ""}) {
    const variable rank("RANK", unset), world("WORLD_SIZE", "4");
    CHECK(
        contains(message_of([] { return wick::shard(); }), "WORLD_SIZE=4, and RANK is not set", "torchrun"));
    const variable alone("WORLD_SIZE", "1");
    CHECK(wick::shard().world == 1);
  }
}

}  // namespace wick_test::order_tests
