// Orders, packed rows and ranks, and the bound on memory.
#include <atomic>
#include <cstdint>
#include <vector>

#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include "support/numbers.hpp"
#include "tools/benchmarked.hpp"
#include <wick/core.hpp>
#include <wick/tools/benchmark.hpp>

using namespace wick_test;

TEST_CASE("buckets, packed rows, others, ranks and a small last batch are measured, too") {
  const auto values = up_to(333);
  std::vector<std::uint32_t> lengths;
  for (const std::int64_t v : values) lengths.push_back(static_cast<std::uint32_t>(v % 9 + 1));
  const auto text = [](std::int64_t v) {
    return std::vector<std::int32_t>(static_cast<std::size_t>(v % 9 + 1), 1);
  };
  {
    CHECK(all_came(wick::benchmark(
        wick::from(values) | wick::shuffle() | text | wick::array_pack(4, 16, {.lengths = lengths}),
        {.workers = 2}, 30ms)));
  }
  {
    CHECK(all_came(wick::benchmark(wick::from(values) | wick::shuffle() |
                                       wick::bucket({.tokens = 50, .lengths = lengths}) | text |
                                       wick::array_batch(64, {.ragged = wick::pad_with(0)}),
                                   {.workers = 2}, 30ms)));
  }
  {
    const auto sum = [](std::int64_t own, std::vector<std::int64_t>& others) {
      for (const std::int64_t other : others) own += other;
      return own;
    };
    CHECK(all_came(wick::benchmark(wick::from(values) | wick::shuffle() | twice | wick::with_others(2) |
                                       wick::join(sum) | wick::array_batch(10),
                                   {.workers = 2}, 30ms)));
  }
  {
    CHECK(all_came(wick::benchmark(
        wick::from(values) | wick::shuffle() | wick::shard(3, 4) | twice | wick::array_batch(8),
        {.workers = 2}, 30ms)));
  }
}

TEST_CASE("a rank that has no sample in any batch has nothing to measure, and gets an error") {
  CHECK(contains(
      message_of([] {
        return wick::benchmark(numbers{2} | wick::shard(0, 4) | wick::group(4), {.workers = 1}, 1ms).samples;
      }),
      "rank 0 of 4 has no sample in any batch"));
}

TEST_CASE("memory is bounded as the loader's is") {
  const auto values = up_to(5000);
  std::atomic<std::uint64_t> held{0}, most{0};
  const auto takes = [&](std::int64_t v, wick::context& c) -> wick::task<std::int64_t> {
    co_await c.reserve(400);
    const std::uint64_t now = held += 400;
    std::uint64_t seen = most;
    while (now > seen && !most.compare_exchange_weak(seen, now)) {
    }
    co_await c.on()->schedule();
    held -= 400;
    co_return v;
  };
  CHECK(all_came(wick::benchmark(wick::from(values) | takes | wick::array_batch(16),
                                 {.workers = 2, .memory = 1000}, 200ms)));
  CHECK(most <= 800);
}
