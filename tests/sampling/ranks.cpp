// Every order stage, every kind of end: the ranks' slices put together are the batches of one rank.
#include <cstdint>
#include <string>
#include <vector>

#include "support/doctest.hpp"
#include "support/numbers.hpp"
#include <wick/core.hpp>

namespace wick_test::ranks_tests {

using wick::weighted_source;
using wick_test::batches;
using wick_test::numbers;
using wick_test::targets_of;

namespace {

constexpr std::size_t global_batch = 12;

/// One epoch by that many ranks, put together.
template <class Pipeline>
batches together(const Pipeline& ordered, std::uint64_t world, wick::batch_options options,
                 std::uint64_t epoch) {
  batches out;
  for (std::uint64_t rank = 0; rank < world; ++rank) {
    wick::loader part(ordered | wick::shard(rank, world) | wick::array_batch(global_batch, options),
                      {.seed = 11, .workers = 1 + rank % 2});
    const batches mine = targets_of(part, epoch);
    if (rank == 0) out.resize(mine.size());
    REQUIRE(mine.size() == out.size());  // or a rank would wait for the others without an end
    for (std::size_t b = 0; b < mine.size(); ++b) {
      if (options.pad_last && global_batch % world == 0) REQUIRE(mine[b].size() == global_batch / world);
      out[b].insert(out[b].end(), mine[b].begin(), mine[b].end());
    }
  }
  return out;
}

/// For 1 to 4 ranks (and 12, a sample each), with each kind of end.
template <class Pipeline>
void same_for_all_ranks(const Pipeline& ordered) {
  for (const wick::batch_options& options : {wick::batch_options{}, wick::batch_options{.drop_last = true},
                                             wick::batch_options{.pad_last = true}}) {
    CAPTURE(options.drop_last);
    CAPTURE(options.pad_last);
    for (const std::uint64_t epoch : {0, 5}) {
      const batches alone = together(ordered, 1, options, epoch);
      REQUIRE(alone.size() > 1);
      for (std::size_t b = 0; b + 1 < alone.size(); ++b) REQUIRE(alone[b].size() == global_batch);
      if (options.drop_last || options.pad_last) CHECK(alone.back().size() == global_batch);
      for (const std::uint64_t world : {2, 3, 4, 12}) {
        CAPTURE(world);
        CHECK(together(ordered, world, options, epoch) == alone);
      }
    }
  }
}

std::vector<double> weights(std::uint64_t n) {
  std::vector<double> out;
  for (std::uint64_t i = 0; i < n; ++i) out.push_back(static_cast<double>(i % 5));
  return out;
}

}  // namespace

TEST_CASE("shuffles: the ranks' slices put together are the batches of one rank") {
  same_for_all_ranks(numbers{250} | wick::shuffle());
  same_for_all_ranks(numbers{251} | wick::shuffle_once(3));
  same_for_all_ranks(numbers{241} | wick::shuffle() | wick::take(100) | wick::shuffle());
}

TEST_CASE("block shuffles: the ranks' slices put together are the batches of one rank") {
  same_for_all_ranks(numbers{250} | wick::block_shuffle(7, 3));
  same_for_all_ranks(numbers{245} | wick::block_shuffle(7, 1));
  same_for_all_ranks(numbers{250} | wick::block_shuffle(100, 2));
  same_for_all_ranks(numbers{250} | wick::block_shuffle(std::vector<std::uint64_t>{100, 0, 17, 3, 130}, 2));
}

TEST_CASE("weighted draws: the ranks' slices put together are the batches of one rank") {
  same_for_all_ranks(numbers{250} | wick::weighted(weights(250), {.samples = 130}));
  same_for_all_ranks(numbers{250} | wick::weighted(weights(250), {.samples = 130, .replacement = false}));
}

TEST_CASE("parts and repetitions: the ranks' slices put together are the batches of one rank") {
  same_for_all_ranks(numbers{250} | wick::skip(17) | wick::take(101));
  same_for_all_ranks(numbers{40} | wick::repeat(3) | wick::shuffle());
  std::vector<std::uint64_t> some;
  for (std::uint64_t i = 0; i < 77; ++i) some.push_back(i * 13 % 50);
  same_for_all_ranks(numbers{50} | wick::subset(some) | wick::shuffle());
}

TEST_CASE("several sources: the ranks' slices put together are the batches of one rank") {
  same_for_all_ranks(wick::concat(numbers{31}, numbers{64}, numbers{3}) | wick::shuffle());
  for (const auto until : {wick::mix_until::first_exhausted, wick::mix_until::all_exhausted}) {
    same_for_all_ranks(wick::mix(until, weighted_source{numbers{60} | wick::shuffle(), 2},
                                 weighted_source{numbers{50} | wick::block_shuffle(5, 2), 1.5}));
  }
  same_for_all_ranks(wick::mix(wick::mix_until::forever, weighted_source{numbers{6} | wick::shuffle(), 1},
                               weighted_source{numbers{9}, 2}) |
                     wick::take(65));
}

}  // namespace wick_test::ranks_tests
