#include <algorithm>
#include <cstdint>
#include <numeric>
#include <set>
#include <vector>

#include "support/chi_square.hpp"
#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include <wick/sampling/block_shuffle.hpp>

namespace wick_test::block_shuffle_tests {

static_assert(wick::ext::order_stage<wick::detail::block_shuffle_stage>);
static_assert(wick::ext::order_stage<wick::detail::unequal_block_shuffle_stage>);

using wick_test::contains;
using wick_test::message_of;
using wick_test::uniform;

namespace {

std::vector<std::uint64_t> order_of(std::uint64_t block, std::uint64_t window, std::uint64_t n,
                                    std::uint64_t epoch = 0) {
  const auto order = wick::block_shuffle(block, window).prepare(n, 1, epoch, 2);
  std::vector<std::uint64_t> out;
  for (std::uint64_t p = 0; p < n; ++p) out.push_back(order(p));
  return out;
}

using lengths = std::vector<std::uint64_t>;

std::vector<std::uint64_t> order_of(const lengths& blocks, std::uint64_t window, std::uint64_t epoch = 0) {
  const std::uint64_t n = std::accumulate(blocks.begin(), blocks.end(), std::uint64_t{0});
  const auto order = wick::block_shuffle(blocks, window).prepare(n, 1, epoch, 2);
  std::vector<std::uint64_t> out;
  for (std::uint64_t p = 0; p < n; ++p) out.push_back(order(p));
  return out;
}

/// Which block each sample is of.
std::vector<std::size_t> blocks_of(const lengths& blocks) {
  std::vector<std::size_t> out;
  for (std::size_t b = 0; b < blocks.size(); ++b) out.insert(out.end(), blocks[b], b);
  return out;
}

}  // namespace

TEST_CASE("a block shuffle is a bijection for every size, block and window") {
  for (const std::uint64_t block : {1, 2, 3, 7, 64, 5000}) {
    for (const std::uint64_t window : {1, 2, 5, 1000}) {
      for (std::uint64_t n = 1; n < 300; n += n < 20 ? 1 : 7) {
        CAPTURE(block);
        CAPTURE(window);
        CAPTURE(n);
        auto order = order_of(block, window, n, n);
        std::sort(order.begin(), order.end());
        bool good = true;
        for (std::uint64_t i = 0; i < n; ++i) good = good && order[i] == i;
        REQUIRE(good);
      }
    }
  }
}

TEST_CASE("many positions at a time are mapped as one by one, within a window and across its end") {
  for (const std::uint64_t n : {1, 30, 143, 1003}) {
    for (const std::uint64_t window : {1, 3, 500}) {
      CAPTURE(n);
      CAPTURE(window);
      const auto order = wick::block_shuffle(10, window).prepare(n, 1, 4, 2);
      for (const std::uint64_t step : {1, 7}) {
        std::vector<std::uint64_t> many, each;
        for (std::uint64_t p = 0; p < 200; ++p) {
          many.push_back(p * step % n);
          each.push_back(order(many.back()));
        }
        order.map(many.data(), many.size());
        REQUIRE(many == each);
      }
    }
  }
}

TEST_CASE(
    "no more than `window` blocks are open at a time, and each is read to its end before others are begun") {
  constexpr std::uint64_t block = 10, window = 4, n = 1003;
  const auto order = order_of(block, window, n);
  std::set<std::uint64_t> done;
  std::set<std::uint64_t> open;
  std::vector<std::uint64_t> seen(n / block + 1);
  for (const std::uint64_t i : order) {
    const std::uint64_t b = i / block;
    CHECK(done.count(b) == 0);
    open.insert(b);
    CHECK(open.size() <= window);
    if (++seen[b] == std::min(block, n - b * block)) {
      // Of a window, the last blocks may be finished in any order: they leave together.
      if (std::all_of(open.begin(), open.end(),
                      [&](std::uint64_t o) { return seen[o] == std::min(block, n - o * block); })) {
        if (open.size() == window || done.size() + open.size() == seen.size()) {
          done.insert(open.begin(), open.end());
          open.clear();
        }
      }
    }
  }
  CHECK(done.size() == seen.size());
}

TEST_CASE("samples of a window are mixed, blocks come in random order, the short one anywhere") {
  constexpr std::uint64_t block = 4, n = 4 * 6 + 2;
  std::vector<std::uint64_t> first_block(7), first_of_window(8), place_of_short(7);
  for (std::uint64_t epoch = 0; epoch < 20'000; ++epoch) {
    const auto order = wick::block_shuffle(block, 1).prepare(n, 3, epoch, 0);
    ++first_block[order(0) / block];
    std::uint64_t p = 0, b = 0;
    while (order(p) / block != 6) {
      p += block;
      ++b;
    }
    ++place_of_short[b];
    const auto mixed = wick::block_shuffle(block, 2).prepare(8, 3, epoch, 0);
    ++first_of_window[mixed(0)];
  }
  CHECK(uniform(first_block));
  CHECK(uniform(place_of_short));
  CHECK(uniform(first_of_window));
}

TEST_CASE("another epoch is another order, the same is the same, and windows are shuffled differently") {
  CHECK(order_of(10, 3, 500, 4) == order_of(10, 3, 500, 4));
  CHECK(order_of(10, 3, 500, 4) != order_of(10, 3, 500, 5));
  const auto order = order_of(8, 1, 800);
  std::set<std::vector<std::uint64_t>> inside;
  for (std::size_t b = 0; b < 100; ++b) {
    std::vector<std::uint64_t> offsets;
    for (std::size_t i = 0; i < 8; ++i) offsets.push_back(order[b * 8 + i] % 8);
    inside.insert(offsets);
  }
  CHECK(inside.size() > 90);
}

TEST_CASE("a window of everything is a whole shuffle, and huge numbers do not overflow") {
  const auto order = wick::block_shuffle(1000, ~std::uint64_t{0}).prepare(1'000'003, 1, 0, 0);
  std::vector<std::uint64_t> distance(64);
  for (std::uint64_t p = 0; p < 20'000; ++p) ++distance[order(p) * 64 / 1'000'003];
  CHECK(uniform(distance));
  CHECK(wick::block_shuffle(~std::uint64_t{0}, 9).prepare(100, 1, 0, 0)(99) < 100);
}

TEST_CASE("a block or window of nothing is refused; parameters have a fingerprint") {
  CHECK(contains(message_of([] { return wick::block_shuffle(0, 3); }), "block_shuffle(0, 3)"));
  CHECK(contains(message_of([] { return wick::block_shuffle(3, 0); }), "at least one block"));
  CHECK(wick::block_shuffle(2, 3).fingerprint() != wick::block_shuffle(3, 2).fingerprint());
}

TEST_CASE("blocks of any lengths: a bijection, one by one and many at a time") {
  const std::vector<lengths> all = {{},
                                    {0},
                                    {0, 0},
                                    {1},
                                    {5},
                                    {0, 3, 0},
                                    {4, 4, 4, 4},
                                    {1, 1, 1, 1, 1},
                                    {100, 1},
                                    {7, 0, 30},
                                    {0, 0, 9, 2, 0},
                                    {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5},
                                    {1000, 20, 300}};
  for (const lengths& blocks : all) {
    for (const std::uint64_t window :
         {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{5}, ~std::uint64_t{0}}) {
      for (std::uint64_t epoch = 0; epoch < 6; ++epoch) {
        CAPTURE(blocks.size());
        CAPTURE(window);
        const std::vector<std::uint64_t> each = order_of(blocks, window, epoch);
        std::vector<std::uint64_t> many(each.size());
        std::iota(many.begin(), many.end(), std::uint64_t{0});
        wick::block_shuffle(blocks, window).prepare(each.size(), 1, epoch, 2).map(many.data(), many.size());
        CHECK(many == each);
        std::sort(many.begin(), many.end());
        bool good = true;
        for (std::uint64_t i = 0; i < many.size(); ++i) good = good && many[i] == i;
        REQUIRE(good);
      }
    }
  }
}

TEST_CASE("blocks of any lengths: those of a window come to their end before others are begun") {
  const lengths blocks = {10, 3, 0, 25, 1, 8, 8, 40, 2, 2, 17, 0, 5};
  const std::vector<std::size_t> block_of = blocks_of(blocks);
  const std::vector<std::uint64_t> order = order_of(blocks, 3, 7);
  std::set<std::size_t> done, open;
  lengths seen(blocks.size());
  for (const std::uint64_t i : order) {
    const std::size_t b = block_of[i];
    CHECK(done.count(b) == 0);
    open.insert(b);
    CHECK(open.size() <= 3);
    ++seen[b];
    // Blocks without samples are part of a window of their own: one that ended may have had fewer.
    if (std::all_of(open.begin(), open.end(), [&](std::size_t o) { return seen[o] == blocks[o]; })) {
      done.insert(open.begin(), open.end());
      open.clear();
    }
  }
  CHECK(done.size() == 11);
}

TEST_CASE("blocks of any lengths: each comes anywhere, each sample of a window, and epochs differ") {
  const lengths blocks = {4, 1, 3};
  std::vector<std::uint64_t> first_block(3), first_of_window(8), place_of_last(8);
  for (std::uint64_t epoch = 0; epoch < 20'000; ++epoch) {
    ++first_block[blocks_of(blocks)[order_of(blocks, 1, epoch).front()]];
    const std::vector<std::uint64_t> mixed = order_of(blocks, 3, epoch);
    ++first_of_window[mixed.front()];
    ++place_of_last[static_cast<std::size_t>(std::find(mixed.begin(), mixed.end(), 7) - mixed.begin())];
  }
  CHECK(uniform(first_block));
  CHECK(uniform(first_of_window));
  CHECK(uniform(place_of_last));
  CHECK(order_of(blocks, 2, 4) == order_of(blocks, 2, 4));
  CHECK(order_of(lengths(50, 9), 4, 4) != order_of(lengths(50, 9), 4, 5));
}

TEST_CASE("blocks of any lengths: the order of one seed is the same everywhere") {
  CHECK(order_of(lengths{3, 1, 4, 2}, 2, 5) == lengths{2, 4, 6, 7, 5, 0, 1, 3, 9, 8});
}

TEST_CASE("blocks that are not the source's are refused; blocks and window have a fingerprint") {
  CHECK(contains(message_of([] { return wick::block_shuffle(lengths{3}, 0); }), "at least one block"));
  CHECK(contains(message_of([] {
                   return wick::block_shuffle(lengths{3, 4}, 1).size(8);
                 }),
                 "its 2 blocks have 7 samples together, and 8 come to it"));
  CHECK(contains(message_of([] {
                   return wick::block_shuffle(lengths{3, 4}, 1).prepare(6, 1, 0, 0);
                 }),
                 "and 6 come to it"));
  const std::set<std::uint64_t> prints = {wick::block_shuffle(lengths{3, 4}, 1).fingerprint(),
                                          wick::block_shuffle(lengths{4, 3}, 1).fingerprint(),
                                          wick::block_shuffle(lengths{3, 4}, 2).fingerprint(),
                                          wick::block_shuffle(lengths{7}, 1).fingerprint()};
  CHECK(prints.size() == 4);
}

}  // namespace wick_test::block_shuffle_tests
