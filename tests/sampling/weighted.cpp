#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <vector>

#include "support/chi_square.hpp"
#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include <wick/ext/fingerprint.hpp>
#include <wick/sampling/weighted.hpp>

namespace wick_test::weighted_tests {

static_assert(wick::ext::order_stage<wick::detail::weighted_stage>);

using wick_test::contains;
using wick_test::message_of;

namespace {

/// By how many deviations chi-square is above what is expected of draws with these weights.
double excess(const std::vector<std::uint64_t>& counts, const std::vector<double>& weights) {
  double total = 0, sum = 0, chi_square = 0, freedom = -1;
  for (const auto n : counts) total += static_cast<double>(n);
  const double most = *std::max_element(weights.begin(), weights.end());
  for (const double w : weights) sum += w / most;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (weights[i] == 0) {
      if (counts[i] != 0) return 1e9;
      continue;
    }
    const double expected = total * (weights[i] / most) / sum,
                 off = static_cast<double>(counts[i]) - expected;
    chi_square += off * off / expected;
    ++freedom;
  }
  return (std::cbrt(chi_square / freedom) - (1 - 2 / (9 * freedom))) / std::sqrt(2 / (9 * freedom));
}

}  // namespace

TEST_CASE("with replacement each position is a draw of its own, as often as its weight says") {
  for (const auto& weights :
       {std::vector<double>{1, 1}, std::vector<double>{5, 0, 1, 0.5, 2, 0},
        std::vector<double>{1e-300, 2e-300, 3e-300}, std::vector<double>{1e308, 1e308, 0, 1e308},
        std::vector<double>{0.1, 0.1, 0.1, 0.7, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1}}) {
    const auto stage = wick::weighted(weights, {.samples = 400'000});
    CHECK(stage.size(weights.size()) == 400'000);
    const auto order = stage.prepare(weights.size(), 1, 2, 3);
    std::vector<std::uint64_t> counts(weights.size());
    for (std::uint64_t p = 0; p < 400'000; ++p) ++counts[order(p)];
    CHECK(excess(counts, weights) < 4.5);
  }
}

TEST_CASE("without replacement no sample comes twice, weights of 0 never, and the first draw is by weight") {
  const std::vector<double> weights{5, 0, 1, 0.5, 2, 0};
  std::vector<std::uint64_t> first(6);
  std::vector<std::uint64_t> second_after_0(6);
  const auto stage = wick::weighted(weights, {.samples = 4, .replacement = false});
  for (std::uint64_t epoch = 0; epoch < 100'000; ++epoch) {
    const auto order = stage.prepare(6, 1, epoch, 0);
    std::set<std::uint64_t> all;
    for (std::uint64_t p = 0; p < 4; ++p) all.insert(order(p));
    if (all != std::set<std::uint64_t>{0, 2, 3, 4}) FAIL("drew what it must not");
    ++first[order(0)];
    if (order(0) == 0) ++second_after_0[order(1)];
  }
  CHECK(excess(first, weights) < 4.5);
  CHECK(excess(second_after_0, {0, 0, 1, 0.5, 2, 0}) < 4.5);
}

TEST_CASE(
    "weights that are as far apart as doubles can be are drawn one after the other, equal ones in any "
    "order") {
  const std::vector<double> weights{5e-324, 1e308, 5e-324, 1e308, 5e-324, 1, 1e308};
  const auto stage = wick::weighted(weights, {.replacement = false});
  std::map<std::vector<std::uint64_t>, std::uint64_t> heavy, light;
  for (std::uint64_t epoch = 0; epoch < 12'000; ++epoch) {
    const auto order = stage.prepare(7, 2, epoch, 0);
    ++heavy[{order(0), order(1), order(2)}];
    if (order(3) != 5) FAIL("a weight of 1 came at another place");
    ++light[{order(4), order(5), order(6)}];
  }
  const auto counts = [](const auto& of) {
    std::vector<std::uint64_t> out;
    for (const auto& [order, n] : of) out.push_back(n);
    return out;
  };
  CHECK(heavy.size() == 6);
  CHECK(light.size() == 6);
  CHECK(wick_test::uniform(counts(heavy)));
  CHECK(wick_test::uniform(counts(light)));
}

TEST_CASE(
    "without replacement the whole order has the probability that drawing one after the other gives it") {
  const std::vector<double> weights{4, 3, 2, 1};
  const auto stage = wick::weighted(weights, {.replacement = false});
  std::map<std::vector<std::uint64_t>, std::uint64_t> seen;
  for (std::uint64_t epoch = 0; epoch < 100'000; ++epoch) {
    const auto order = stage.prepare(4, 5, epoch, 1);
    ++seen[{order(0), order(1), order(2), order(3)}];
  }
  std::vector<std::uint64_t> counts;
  std::vector<double> probabilities;
  for (const auto& [order, n] : seen) {
    double p = 1, left = 10;
    for (const std::uint64_t i : order) {
      p *= weights[i] / left;
      left -= weights[i];
    }
    counts.push_back(n);
    probabilities.push_back(p);
  }
  CHECK(counts.size() == 24);
  CHECK(excess(counts, probabilities) < 4.5);
}

TEST_CASE("the draws are the same on every machine and in every release") {
  // Saved states say a position and mean a sample. Nothing here may go by what a library's log() gives.
  std::vector<double> weights(1000);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = 1.0 / static_cast<double>(1 + i % 97);
  const auto first = [&](wick::weighted_options options) {
    const auto order = wick::weighted(weights, options).prepare(weights.size(), 42, 3, 1);
    std::vector<std::uint64_t> out;
    for (std::uint64_t p = 0; p < 10; ++p) out.push_back(order(p));
    return out;
  };
  CHECK(first({}) == std::vector<std::uint64_t>{485, 296, 880, 485, 1, 874, 679, 606, 879, 228});
  CHECK(first({.replacement = false}) ==
        std::vector<std::uint64_t>{877, 780, 679, 215, 206, 196, 194, 213, 692, 291});
  const auto order = wick::weighted(weights, {.replacement = false}).prepare(weights.size(), 42, 3, 1);
  wick::ext::fingerprint_hash all;
  for (std::uint64_t p = 0; p < weights.size(); ++p) all.add(order(p));
  CHECK(all.value() == 14501631613694500312u);
}

TEST_CASE(
    "an epoch's draws are the same when asked again, in any order of asking, and others in another epoch") {
  std::vector<double> weights(1000);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<double>(1 + i % 7);
  for (const bool replacement : {true, false}) {
    const auto stage = wick::weighted(weights, {.samples = 500, .replacement = replacement});
    const auto again = wick::weighted(weights, {.samples = 500, .replacement = replacement});
    std::vector<std::vector<std::uint64_t>> epochs;
    for (std::uint64_t e = 0; e < 8; ++e) {  // more than lists are kept
      epochs.emplace_back();
      const auto order = stage.prepare(1000, 9, e, 1);
      for (std::uint64_t p = 0; p < 500; ++p) epochs.back().push_back(order(p));
    }
    CHECK(std::set<std::vector<std::uint64_t>>(epochs.begin(), epochs.end()).size() == 8);
    for (std::uint64_t e = 8; e-- > 0;) {
      const auto order = again.prepare(1000, 9, e, 1);
      bool same = true;
      for (std::uint64_t p = 500; p-- > 0;) same = same && order(p) == epochs[e][p];
      CHECK(same);
    }
  }
}

TEST_CASE("weights that make no sense are refused with their number") {
  const auto refused = [](std::vector<double> w, wick::weighted_options o = {}) {
    return message_of([&] { return wick::weighted(w, o); });
  };
  CHECK(contains(refused({1, -1}), "weight 1 is -1"));
  CHECK(contains(refused({std::nan("")}), "weight 0 is"));
  CHECK(contains(refused({std::numeric_limits<double>::infinity()}), "weight 0 is inf"));
  CHECK(contains(refused({0, 0}), "no weight is above 0"));
  CHECK(contains(refused({}), "no weight is above 0"));
  CHECK(contains(refused({1}, {.samples = 0}), ".samples is 0"));
  CHECK(contains(refused({1, 0, 1}, {.replacement = false}), "3 samples can't be drawn", "from 2"));
  CHECK(contains(message_of([] { return wick::weighted({1, 2}).size(3); }), "2 weights for 3 samples"));
  CHECK(wick::weighted({1, 2}).size(2) == 2);
  CHECK(wick::weighted({1, 2}).fingerprint() != wick::weighted({2, 1}).fingerprint());
  CHECK(wick::weighted({1, 2}).fingerprint() != wick::weighted({1, 2}, {.replacement = false}).fingerprint());
}

}  // namespace wick_test::weighted_tests
