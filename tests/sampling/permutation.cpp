#include <bit>
#include <cstdint>
#include <set>
#include <unordered_set>
#include <vector>

#include "support/chi_square.hpp"
#include "support/doctest.hpp"
#include <wick/sampling/detail/permutation.hpp>

namespace wick_test::permutation_tests {

using wick::detail::permutation;
using wick_test::uniform;

namespace {

bool bijective(const permutation& p) {
  std::vector<bool> seen(p.size());
  for (std::uint64_t i = 0; i < p.size(); ++i) {
    const std::uint64_t to = p(i);
    if (to >= p.size() || seen[to]) return false;
    seen[to] = true;
  }
  return true;
}

}  // namespace

TEST_CASE("every size has a bijection") {
  for (std::uint64_t n = 1; n <= 2000; ++n) {
    CAPTURE(n);
    REQUIRE(bijective(permutation(n, 42, n % 7, 1)));
  }
  for (std::uint64_t epoch = 0; epoch < 500; ++epoch) {
    for (const std::uint64_t n : {1, 2, 3, 4, 5, 15, 16, 17, 31, 32, 33, 64}) {
      REQUIRE(bijective(permutation(n, 1, epoch, 0)));
    }
  }
  for (const std::uint64_t n : {60'000, 65'535, 65'536, 65'537, 1'000'003})
    CHECK(bijective(permutation(n, 3, 2, 1)));
}

TEST_CASE("many positions at a time are mapped as one by one") {
  for (const std::uint64_t n : {1, 2, 16, 17, 31, 33, 64, 100, 257, 60'000, 65'537}) {
    const permutation p(n, 5, n % 3, 1);
    for (const std::uint64_t count : {0, 1, 15, 16, 17, 32, 50, 256}) {
      CAPTURE(n);
      CAPTURE(count);
      std::vector<std::uint64_t> many, each;
      for (std::uint64_t i = 0; i < count; ++i) {
        many.push_back((i * 7 + count) % n);
        each.push_back(p(many.back()));
      }
      p.map(many.data(), many.size());
      REQUIRE(many == each);
    }
  }
}

TEST_CASE("with and without vector instructions the places are the same") {
  for (const std::uint64_t n : {17, 1000, 65'536, 1'281'167, 2'147'483'647}) {
    CAPTURE(n);
    const auto bits = static_cast<std::uint32_t>(std::bit_width(n - 1));
    wick::detail::grid_rounds grid;
    grid.column_bits = bits / 2;
    grid.rows = ((n - 1) >> grid.column_bits) + 1;
    grid.rounds = wick::detail::grid_rounds::max_rounds;
    wick::random_stream random(1, n, 0, 0);
    for (std::uint32_t r = 0; r < grid.rounds; ++r) {
      grid.factor[r] = random() | 1u;
      grid.offset[r] = random();
    }
    for (int turn = 0; turn < 100; ++turn) {
      std::vector<std::uint64_t> portable, each;
      for (int k = 0; k < wick::detail::grid_rounds::lanes; ++k) {
        portable.push_back(random.below(static_cast<std::uint32_t>(n)));
      }
      const std::vector<std::uint64_t> places = portable;
      for (const std::uint64_t place : portable) each.push_back(grid.one<std::uint32_t>(place));
      grid.many_portable(portable.data());
      REQUIRE(portable == each);
      const auto same = [&](auto kernel) {
        std::vector<std::uint64_t> mapped = places;
        kernel(mapped.data());
        REQUIRE(mapped == each);
      };
      same([&](std::uint64_t* p) { grid.many(p); });
#if defined(__x86_64__)
      if (__builtin_cpu_supports("avx2")) same([&](std::uint64_t* p) { grid.many_avx2(p); });
      if (__builtin_cpu_supports("avx512f")) same([&](std::uint64_t* p) { grid.many_avx512(p); });
#endif
    }
  }
}

TEST_CASE("huge sizes map into themselves without collisions, any position at once") {
  for (const std::uint64_t n :
       {std::uint64_t{1'281'167}, std::uint64_t{999'999'937}, (std::uint64_t{1} << 32) + 1,
        (std::uint64_t{1} << 48) - 59, (std::uint64_t{1} << 63) + 9, ~std::uint64_t{0}}) {
    const permutation p(n, 5, 1, 2);
    std::unordered_set<std::uint64_t> seen;
    // Runs at both ends and steps over the whole.
    for (std::uint64_t i = 0; i < 20'000; ++i) {
      for (const std::uint64_t from : {i, n - 1 - i, 20'000 + i * ((n - 40'000) / 20'000)}) {
        REQUIRE(p(from) < n);
        seen.insert(p(from));
      }
    }
    CHECK(seen.size() == 60'000);
  }
}

TEST_CASE("over many epochs each position gets each sample equally often") {
  for (const std::uint64_t n : {2, 3, 5, 8, 10, 13, 16, 17, 40}) {
    CAPTURE(n);
    std::vector<std::vector<std::uint64_t>> counts(n, std::vector<std::uint64_t>(n));
    for (std::uint64_t epoch = 0; epoch < 1000 * n; ++epoch) {
      const permutation p(n, 7, epoch, 0);
      for (std::uint64_t i = 0; i < n; ++i) ++counts[i][p(i)];
    }
    for (const auto& position : counts) CHECK(uniform(position));
  }
}

TEST_CASE("over many epochs each ordered pair of samples is equally often neighbors") {
  for (const std::uint64_t n : {2, 3, 5, 8, 10, 16, 17, 32, 33, 50}) {
    CAPTURE(n);
    std::vector<std::uint64_t> first, last;
    std::vector<std::uint64_t> counts(n * n), end_counts(n * n);
    for (std::uint64_t epoch = 0; epoch < 100 * n * n; ++epoch) {
      const permutation p(n, 11, epoch, 3);
      ++counts[p(0) * n + p(1)];
      ++end_counts[p(n - 2) * n + p(n - 1)];
    }
    for (std::uint64_t i = 0; i < n * n; ++i) {
      if (i / n == i % n) continue;
      first.push_back(counts[i]);
      last.push_back(end_counts[i]);
    }
    CHECK(uniform(first));
    CHECK(uniform(last));
  }
}

TEST_CASE("every order of five samples is equally likely") {
  std::vector<std::uint64_t> counts(5 * 5 * 5 * 5);
  for (std::uint64_t epoch = 0; epoch < 60'000; ++epoch) {
    const permutation p(5, 13, epoch, 0);
    ++counts[((p(0) * 5 + p(1)) * 5 + p(2)) * 5 + p(3)];
  }
  std::erase(counts, 0u);
  CHECK(counts.size() == 120);
  CHECK(uniform(counts));
}

TEST_CASE("in a large shuffle neighbors are far apart, as often as chance has it") {
  for (const std::uint64_t n : {4096, 60'000, 65'536, 100'003}) {
    CAPTURE(n);
    std::vector<std::uint64_t> distance(64), low_bits(64);
    for (std::uint64_t epoch = 0; epoch < 4; ++epoch) {
      const permutation p(n, 17, epoch, 1);
      for (std::uint64_t i = 0; i + 1 < n; ++i) {
        ++distance[(p(i) + n - p(i + 1)) % n * 64 / n];
        if (p(i) < n / 8 * 8 && p(i + 1) < n / 8 * 8) ++low_bits[(p(i) & 7) * 8 + (p(i + 1) & 7)];
      }
    }
    CHECK(uniform(distance));
    CHECK(uniform(low_bits));
  }
}

TEST_CASE("another epoch, another seed and another stage is another permutation; the same is the same") {
  const auto order = [](std::uint64_t seed, std::uint64_t epoch, std::uint32_t stage) {
    std::vector<std::uint64_t> out;
    const permutation p(100, seed, epoch, stage);
    for (std::uint64_t i = 0; i < 100; ++i) out.push_back(p(i));
    return out;
  };
  std::set<std::vector<std::uint64_t>> all;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    for (std::uint64_t epoch = 0; epoch < 10; ++epoch) {
      for (std::uint32_t stage = 0; stage < 10; ++stage) all.insert(order(seed, epoch, stage));
    }
  }
  CHECK(all.size() == 1000);
  CHECK(order(1, 2, 3) == order(1, 2, 3));
}

TEST_CASE("the orders are the same in every release") {
  // Saved states say a position and mean a sample: these values are part of their format.
  const permutation small(10, 42, 1, 0), large(1'281'167, 42, 1, 0);
  std::vector<std::uint64_t> listed, computed;
  for (std::uint64_t i = 0; i < 10; ++i) {
    listed.push_back(small(i));
    computed.push_back(large(i));
  }
  CHECK(listed == std::vector<std::uint64_t>{7, 3, 4, 6, 9, 0, 8, 2, 5, 1});
  CHECK(computed == std::vector<std::uint64_t>{104324, 1211211, 1005649, 448215, 606858, 207674, 410653,
                                               1265429, 983372, 990629});
  const permutation wide(std::uint64_t{1} << 40, 42, 1, 0);
  CHECK(wide(0) == 508957306471);
  CHECK(wide(9) == 681260386078);
}

TEST_CASE("a permutation is 224 bytes whatever it permutes") { CHECK(sizeof(permutation) <= 224); }

}  // namespace wick_test::permutation_tests
