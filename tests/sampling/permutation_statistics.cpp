// Whether shuffles of small data sets look like chance over a hundred thousand epochs: where a sample stands,
// what stands beside it, and what stood there an epoch before.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "support/chi_square.hpp"
#include "support/doctest.hpp"
#include <wick/sampling/block_shuffle.hpp>
#include <wick/sampling/detail/permutation.hpp>

namespace wick_test::permutation_statistics_tests {

using wick_test::uniform;

namespace {

constexpr std::uint64_t epochs = 100'000;

/// All sizes up to the one that is written out, those about it, and some with grids of all shapes.
std::vector<std::uint64_t> sizes() {
  std::vector<std::uint64_t> out;
  for (std::uint64_t n = 2; n <= 24; ++n) out.push_back(n);
  for (const std::uint64_t n : {31, 32, 33, 47, 63, 64, 65, 100, 127, 128, 129}) out.push_back(n);
  return out;
}

/// The correlation of two numbers in 0 … n - 1, each uniform, from the sum over the epochs of what they are
/// off the mean, multiplied.
double correlation(double products, double n) {
  return products / static_cast<double>(epochs) / ((n * n - 1) / 12);
}
/// By how many deviations of chance a correlation is off.
double off(double found, double expected) {
  return std::abs(found - expected) * std::sqrt(static_cast<double>(epochs));
}

/// Of `make(epoch)`, an order of n positions in which every sample is equally likely at every position.
template <class Make>
void looks_like_chance(std::uint64_t n, Make make) {
  CAPTURE(n);
  const auto places = static_cast<std::size_t>(n);
  std::vector<std::vector<std::uint64_t>> at(places, std::vector<std::uint64_t>(places));
  std::vector<double> beside(places), before(places);
  std::vector<std::uint64_t> now(places), last(places), pairs[3];
  const std::size_t from[3] = {0, places / 2 - (places == 2 ? 1 : 0), places - 2};
  for (auto& p : pairs) p.resize(places * places);
  for (std::uint64_t e = 0; e < epochs; ++e) {
    const auto order = make(e);
    for (std::size_t i = 0; i < places; ++i) now[i] = order(i);
    for (std::size_t i = 0; i < places; ++i) {
      ++at[i][static_cast<std::size_t>(now[i])];
      const auto off_mean = [&](std::uint64_t x) {
        return static_cast<double>(x) - static_cast<double>(n - 1) / 2;
      };
      if (i + 1 < places) beside[i] += off_mean(now[i]) * off_mean(now[i + 1]);
      if (e != 0) before[i] += off_mean(now[i]) * off_mean(last[i]);
    }
    for (std::size_t k = 0; k < 3; ++k) {
      if (from[k] + 1 < places) ++pairs[k][static_cast<std::size_t>(now[from[k]] * n + now[from[k] + 1])];
    }
    std::swap(now, last);
  }
  for (const auto& position : at) CHECK(uniform(position));
  for (auto& p : pairs) {
    std::vector<std::uint64_t> different;
    for (std::size_t i = 0; i < p.size(); ++i) {
      if (i / places != i % places) different.push_back(p[i]);
    }
    if (different.size() > 1 && std::any_of(p.begin(), p.end(), [](auto c) { return c != 0; }))
      CHECK(uniform(different));
  }
  // Two different samples of n are correlated by -1 / (n - 1): what is taken is not there any more.
  double most_beside = 0, most_before = 0;
  const auto size = static_cast<double>(n);
  for (std::size_t i = 0; i < places; ++i) {
    if (i + 1 < places && n > 2)
      most_beside = std::max(most_beside, off(correlation(beside[i], size), -1 / (size - 1)));
    most_before = std::max(most_before, off(correlation(before[i], size), 0));
  }
  CHECK(most_beside < 5);
  CHECK(most_before < 5);
}

}  // namespace

TEST_CASE("over a hundred thousand epochs positions are uniform, neighbors and epochs uncorrelated") {
  for (const std::uint64_t n : sizes()) {
    looks_like_chance(n, [n](std::uint64_t epoch) { return wick::detail::permutation(n, 2, epoch, 0); });
  }
}

TEST_CASE("the same of a block shuffle whose window is all there is, and of another seed and stage") {
  for (const std::uint64_t n : {12, 30, 64}) {
    looks_like_chance(
        n, [n](std::uint64_t epoch) { return wick::block_shuffle(5, 100).prepare(n, 77, epoch, 3); });
  }
}

TEST_CASE("an order that is a little off is found out") {
  // Every fiftieth epoch the second sample is the one after the first.
  std::vector<std::uint64_t> pairs(30 * 30), different;
  for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
    const wick::detail::permutation p(30, 2, epoch, 0);
    const std::uint64_t a = p(0), b = epoch % 50 == 0 ? (a + 1) % 30 : p(1);
    ++pairs[a * 30 + b];
  }
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (i / 30 != i % 30) different.push_back(pairs[i]);
  }
  CHECK(!uniform(different));
}

}  // namespace wick_test::permutation_statistics_tests
