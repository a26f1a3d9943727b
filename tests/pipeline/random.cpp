#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "support/chi_square.hpp"
#include "support/doctest.hpp"
#include <wick/pipeline/random.hpp>

namespace wick_test::random_tests {

using wick::random_stream;
using wick::detail::philox4x32;
using wick_test::uniform;

static_assert(std::uniform_random_bit_generator<random_stream>);

namespace {

using words = std::array<std::uint32_t, 4>;

/// The correlation of two streams' numbers, in deviations.
double correlation(random_stream a, random_stream b) {
  constexpr int n = 4096;
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += (a.uniform() - 0.5) * (b.uniform() - 0.5);
  return sum * 12 / std::sqrt(n);
}

/// The bits in which two streams' numbers differ, as deviations from half of them.
double differing_bits(random_stream a, random_stream b) {
  constexpr int n = 4096;
  int bits = 0;
  for (int i = 0; i < n; ++i) bits += std::popcount(a() ^ b());
  return (bits - n * 16) / std::sqrt(n * 8.0);
}

}  // namespace

TEST_CASE("Philox gives the published numbers") {
  // Random123 1.14.0, tests/kat_vectors, philox4x32 with 10 rounds.
  CHECK(philox4x32({0, 0, 0, 0}, {0, 0}) == words{0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8});
  CHECK(philox4x32({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}) ==
        words{0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD});
  CHECK(philox4x32({0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344}, {0xA4093822, 0x299F31D0}) ==
        words{0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1});
  static_assert(philox4x32({0, 0, 0, 0}, {0, 0})[0] == 0x6627E8D5);
}

TEST_CASE("a stream is the blocks of its counter, so its numbers are the same in every release") {
  random_stream s(0x299F31D0A4093822u, 7, 0x0000'1234'89AB'CDEFu, 3);
  for (std::uint32_t block = 0; block < 5; ++block) {
    const words expected = philox4x32({block, 0x89ABCDEF, 0x1234u | (3u << 16), 7}, {0xA4093822, 0x299F31D0});
    for (const std::uint32_t word : expected) CHECK(s() == word);
  }
}

TEST_CASE("a copy of a stream continues as the stream does") {
  random_stream a(1, 2, 3, 4);
  a();
  random_stream b = a;
  for (int i = 0; i < 100; ++i) CHECK(a() == b());
}

TEST_CASE("streams that differ in one coordinate by one are uncorrelated") {
  const std::uint64_t near[] = {0, 1, 2, 255, 256, 65535, 65536, 0xFFFFFFFF};
  for (const std::uint64_t v : near) {
    const std::array<std::array<random_stream, 2>, 4> pairs = {
        {{random_stream(v, 5, 6, 7), random_stream(v + 1, 5, 6, 7)},
         {random_stream(5, v & 0xFFFFFFFE, 6, 7), random_stream(5, (v & 0xFFFFFFFE) + 1, 6, 7)},
         {random_stream(5, 6, v, 7), random_stream(5, 6, v + 1, 7)},
         {random_stream(5, 6, 7, static_cast<std::uint32_t>(v & 0xFFFE)),
          random_stream(5, 6, 7, static_cast<std::uint32_t>(v & 0xFFFE) + 1)}}};
    for (const auto& [a, b] : pairs) {
      CHECK(std::abs(correlation(a, b)) < 4.5);
      CHECK(std::abs(differing_bits(a, b)) < 4.5);
    }
  }
}

TEST_CASE("the first number of neighboring positions, epochs, stages and seeds is uniform") {
  // What a stage of one draw a sample sees: not the stream, but the first of each.
  std::vector<std::uint64_t> positions(64), epochs(64), stages(64), seeds(64), next(256);
  std::uint64_t before = 0;
  for (std::uint32_t i = 0; i < 60'000; ++i) {
    const std::uint64_t drawn = random_stream(1, 2, i, 3).below(64);
    ++positions[drawn];
    ++epochs[random_stream(1, i, 2, 3).below(64)];
    ++stages[random_stream(1, 2, 3, i).below(64)];
    ++seeds[random_stream(i, 1, 2, 3).below(64)];
    ++next[before / 4 * 16 + drawn / 4];
    before = drawn;
  }
  CHECK(uniform(positions));
  CHECK(uniform(epochs));
  CHECK(uniform(stages));
  CHECK(uniform(seeds));
  CHECK(uniform(next));
}

TEST_CASE("a seed, an epoch and a position of any size count in full") {
  const auto first = [](std::uint64_t seed, std::uint64_t epoch, std::uint64_t position,
                        std::uint32_t stage) { return random_stream(seed, epoch, position, stage)(); };
  const std::uint32_t base = first(0, 0, 0, 0);
  for (int bit = 0; bit < 64; ++bit) CHECK(first(std::uint64_t{1} << bit, 0, 0, 0) != base);
  for (int bit = 0; bit < 32; ++bit) CHECK(first(0, std::uint64_t{1} << bit, 0, 0) != base);
  for (int bit = 0; bit < 48; ++bit) CHECK(first(0, 0, std::uint64_t{1} << bit, 0) != base);
  for (int bit = 0; bit < 16; ++bit) CHECK(first(0, 0, 0, 1u << bit) != base);
}

TEST_CASE("below(n) is below n and unbiased") {
  for (const std::uint64_t n : {2, 3, 5, 6, 7, 10, 100, 255, 256, 257}) {
    random_stream s(n, 0, 0, 0);
    std::vector<std::uint64_t> counts(n);
    for (int i = 0; i < 100'000; ++i) {
      const std::uint64_t drawn = s.below(n);
      REQUIRE(drawn < n);
      ++counts[drawn];
    }
    CHECK(uniform(counts));
  }
}

TEST_CASE("below(n) is unbiased where taking the remainder would not be") {
  // Three quarters of the 32 or 64 bits: a remainder would fall into the lower third twice as often.
  for (const std::uint64_t n : {std::uint64_t{3} << 30, std::uint64_t{3} << 62}) {
    random_stream s(11, 0, 0, 0);
    std::vector<std::uint64_t> thirds(3);
    for (int i = 0; i < 60'000; ++i) {
      const std::uint64_t drawn = s.below(n);
      REQUIRE(drawn < n);
      ++thirds[drawn / (n / 3)];
    }
    CHECK(uniform(thirds));
  }
  random_stream s(12, 0, 0, 0);
  std::vector<std::uint64_t> low(8);
  for (int i = 0; i < 60'000; ++i) ++low[s.below((std::uint64_t{1} << 40) + 8) & 7];
  CHECK(uniform(low));
}

TEST_CASE("below(0) and below(1) are 0 and draw nothing") {
  random_stream s(1, 2, 3, 4), untouched = s;
  CHECK(s.below(0) == 0);
  CHECK(s.below(1) == 0);
  CHECK(s() == untouched());
}

TEST_CASE("uniform() is in [0, 1), with the mean and the deviation of it, uniform in high and in low bits") {
  random_stream s(5, 0, 0, 0);
  std::vector<std::uint64_t> high(64), low(64);
  double sum = 0, squares = 0;
  constexpr int n = 200'000;
  for (int i = 0; i < n; ++i) {
    const double u = s.uniform();
    REQUIRE(u >= 0);
    REQUIRE(u < 1);
    sum += u;
    squares += u * u;
    ++high[static_cast<std::size_t>(u * 64)];
    ++low[static_cast<std::uint64_t>(std::ldexp(u, 53)) & 63];
  }
  CHECK(sum / n == doctest::Approx(0.5).epsilon(0.005));
  CHECK(squares / n - sum / n * sum / n == doctest::Approx(1 / 12.0).epsilon(0.01));
  CHECK(uniform(high));
  CHECK(uniform(low));
}

TEST_CASE("uniform(low, high) stays below high even where rounding would reach it") {
  random_stream s(6, 0, 0, 0);
  const double above_one = std::nextafter(1.0, 2.0);
  for (int i = 0; i < 1000; ++i) {
    CHECK(s.uniform(1.0, above_one) == 1.0);
    const double x = s.uniform(-3, 5);
    CHECK((x >= -3 && x < 5));
  }
  CHECK(s.uniform(2, 2) == 2);
}

TEST_CASE("bernoulli(p) is true with probability p, never for 0 and always for 1") {
  random_stream s(7, 0, 0, 0);
  for (const double p : {0.0, 0.1, 0.5, 0.9, 1.0}) {
    int hits = 0;
    constexpr int n = 40'000;
    for (int i = 0; i < n; ++i) hits += s.bernoulli(p);
    CHECK(std::abs(hits - n * p) <= 4.5 * std::sqrt(n * p * (1 - p)));
  }
}

TEST_CASE("normal() has the moments of a normal distribution and is always finite") {
  random_stream s(8, 0, 0, 0);
  double m1 = 0, m2 = 0, m3 = 0, m4 = 0;
  constexpr int n = 200'000;
  for (int i = 0; i < n; ++i) {
    const double x = s.normal();
    REQUIRE(std::isfinite(x));
    m1 += x;
    m2 += x * x;
    m3 += x * x * x;
    m4 += x * x * x * x;
  }
  CHECK(std::abs(m1 / n) < 0.01);
  CHECK(m2 / n == doctest::Approx(1).epsilon(0.02));
  CHECK(std::abs(m3 / n) < 0.04);
  CHECK(m4 / n == doctest::Approx(3).epsilon(0.03));
}

TEST_CASE("a stream feeds the standard library's distributions and shuffle") {
  random_stream s(9, 0, 0, 0);
  std::uniform_int_distribution<int> die(1, 6);
  std::vector<std::uint64_t> faces(6), first(5);
  for (int i = 0; i < 60'000; ++i) ++faces[static_cast<std::size_t>(die(s) - 1)];
  CHECK(uniform(faces));
  for (int i = 0; i < 20'000; ++i) {
    std::vector<int> items(5);
    std::iota(items.begin(), items.end(), 0);
    std::shuffle(items.begin(), items.end(), s);
    ++first[static_cast<std::size_t>(items[0])];
  }
  CHECK(uniform(first));
  CHECK(std::isfinite(std::normal_distribution<double>()(s)));
}

TEST_CASE("a stream draws at compile time what it draws at run time") {
  constexpr std::uint64_t drawn = [] {
    random_stream s(1, 2, 3, 4);
    s.uniform();
    return s.below(1000);
  }();
  random_stream s(1, 2, 3, 4);
  s.uniform();
  CHECK(s.below(1000) == drawn);
}

}  // namespace wick_test::random_tests
