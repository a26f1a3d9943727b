#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <thread>
#include <utility>
#include <vector>

#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include <wick/pipeline/random.hpp>
#include <wick/sampling/weighted.hpp>
#include <wick/sampling/weights.hpp>

namespace wick_test::weights_tests {

static_assert(wick::ext::order_stage<wick::detail::changing_weights_stage>);

using wick_test::contains;
using wick_test::message_of;

namespace {

std::vector<std::uint64_t> draws(const wick::detail::sum_tree& from, std::uint64_t count) {
  std::vector<std::uint64_t> out;
  for (std::uint64_t p = 0; p < count; ++p) {
    wick::random_stream random(1, 2, p, 3);
    out.push_back(from(random));
  }
  return out;
}

wick::detail::sum_tree tree_of(const wick::weights& w) {
  wick::detail::sum_tree t;
  t.follow(w);
  return t;
}

std::vector<double> some_weights(std::uint64_t n, std::uint64_t salt) {
  std::vector<double> out(n);
  wick::random_stream random(salt, 0, 0, 0);
  for (double& w : out) w = random.bernoulli(0.2) ? 0 : random.uniform() * 5;
  return out;
}

}  // namespace

TEST_CASE("an index is drawn as often as its weight says, and one of weight 0 never") {
  for (const std::uint64_t n : {1u, 2u, 63u, 64u, 65u, 4096u, 4097u, 5000u}) {
    CAPTURE(n);
    std::vector<double> values = some_weights(n, n);
    values[n / 2] = 100;
    const auto tree = tree_of(wick::weights(values));
    REQUIRE(tree.size() == n);
    std::vector<std::uint64_t> counts(n);
    constexpr std::uint64_t all = 400'000;
    for (const std::uint64_t i : draws(tree, all)) ++counts.at(i);
    double sum = 0, chi_square = 0, freedom = -1;
    for (const double w : values) sum += w;
    for (std::uint64_t i = 0; i < n; ++i) {
      if (values[i] == 0) {
        CHECK(counts[i] == 0);
        continue;
      }
      const double expected = all * values[i] / sum, off = static_cast<double>(counts[i]) - expected;
      if (expected < 5) continue;
      chi_square += off * off / expected;
      ++freedom;
    }
    if (freedom > 0) CHECK((chi_square - freedom) / std::sqrt(2 * freedom) < 5);
  }
}

TEST_CASE("weights of very different sizes: nothing of weight 0, nothing past the end") {
  std::vector<double> values(300, 0.0);
  values[7] = 1e-300;
  values[130] = 1e300;
  values[131] = 1e-300;
  values[298] = 1;
  const auto tree = tree_of(wick::weights(values));
  for (const std::uint64_t i : draws(tree, 100'000)) CHECK(values.at(i) > 0);
  values.assign(300, 0.0);
  values[0] = values[63] = values[64] = 0.1;
  const auto other = tree_of(wick::weights(values));
  for (const std::uint64_t i : draws(other, 100'000)) CHECK(values.at(i) > 0);
}

TEST_CASE("what is drawn depends on the weights alone, not on how they became what they are") {
  wick::random_stream random(5, 0, 0, 0);
  wick::weights changing;
  wick::detail::sum_tree follower, late;
  std::vector<double> values;
  for (int round = 0; round < 60; ++round) {
    const auto kind = random.below(4);
    if (kind == 0) {
      const std::uint64_t n = random.below(10'000);
      changing.resize(n, 0.5);
      values.resize(n, 0.5);
    } else if (kind == 1) {
      for (int i = 0; i < 200; ++i) {
        changing.push_back(i);
        values.push_back(i);
      }
    }
    for (int i = 0; i < 50 && !values.empty(); ++i) {
      const std::uint64_t at = random.below(values.size());
      changing.set(at, values[at] = random.uniform());
    }
    follower.follow(changing);
    if (round % 7 == 0) late.follow(changing);
    const auto fresh = tree_of(wick::weights(values));
    REQUIRE(follower.size() == values.size());
    REQUIRE(follower.fingerprint() == fresh.fingerprint());
    REQUIRE(follower.sum() == fresh.sum());
    if (fresh.sum() > 0) REQUIRE(draws(follower, 500) == draws(fresh, 500));
  }
  late.follow(changing);
  CHECK(draws(late, 500) == draws(follower, 500));
  CHECK(changing.size() == values.size());
  for (std::uint64_t i = 0; i < values.size(); ++i) CHECK(changing.at(i) == values[i]);
}

TEST_CASE("a stage draws by the weights that it has taken, until it takes them again") {
  wick::weights w({1, 0, 0});
  auto stage = wick::weighted(w, {.samples = 50});
  stage.refresh();
  CHECK(stage.size(3) == 50);
  const auto before = stage.fingerprint();
  w.set(0, 0);
  w.set(2, 1);
  CHECK(stage.fingerprint() == before);
  const auto order = stage.prepare(3, 1, 2, 3);
  for (std::uint64_t p = 0; p < 50; ++p) CHECK(order(p) == 0);
  stage.refresh();
  CHECK(stage.fingerprint() != before);
  const auto after = stage.prepare(3, 1, 2, 3);
  for (std::uint64_t p = 0; p < 50; ++p) CHECK(after(p) == 2);
  w.push_back(1);
  CHECK(stage.size(3) == 50);
  stage.refresh();
  CHECK(contains(message_of([&] { return stage.size(3); }), "4 weights for 3 samples"));
  auto all = wick::weighted(w);
  all.refresh();
  CHECK(all.size(4) == 4);
}

TEST_CASE("weights that can't be drawn by are refused") {
  using wick::weights;
  CHECK(contains(message_of([] { return weights({1, -1}); }), "weight 1", "not negative"));
  CHECK(contains(message_of([] { return weights({std::nan("")}); }), "finite"));
  wick::weights w({1, 2});
  CHECK(contains(message_of([&] { return w.set(0, -0.5), 0; }), "weight 0"));
  CHECK(contains(message_of([&] { return w.set(2, 1), 0; }), "weight 2 of 2"));
  CHECK(contains(message_of([&] { return w.at(2); }), "weight 2 of 2"));
  CHECK(contains(message_of([&] { return w.push_back(std::numeric_limits<double>::infinity()), 0; }),
                 "finite"));
  CHECK(contains(message_of([&] { return w.resize(9, -1), 0; }), "weight 2"));
  CHECK(w.size() == 2);
  CHECK(contains(message_of([&] { return wick::weighted(w, {.replacement = false}); }), "with replacement"));
  CHECK(contains(message_of([&] { return wick::weighted(w, {.samples = 0}); }), ".samples is 0"));
  for (const auto& [values, why] : {std::pair{std::vector<double>{0, 0}, "above 0"},
                                    std::pair{std::vector<double>{1e308, 1e308}, "scale"}}) {
    auto stage = wick::weighted(wick::weights(values));
    stage.refresh();
    CHECK(contains(message_of([&] { return stage.size(2); }), why));
  }
  auto not_taken = wick::weighted(w);
  CHECK(contains(message_of([&] { return not_taken.size(2); }), "0 weights for 2 samples"));
}

TEST_CASE("weights may be changed by some threads while others take them") {
  wick::weights w(std::vector<double>(1000, 1.0));
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (std::uint64_t i = 0; !stop.load(); ++i) {
      w.set(i % 1000, 2);
      if (i % 64 == 0) w.push_back(2);
    }
  });
  wick::detail::sum_tree tree;
  for (int i = 0; i < 200; ++i) {
    tree.follow(w);
    CHECK(tree.sum() >= static_cast<double>(tree.size()));
    CHECK(tree.sum() <= 2.0 * static_cast<double>(tree.size()));
  }
  stop.store(true);
  writer.join();
  tree.follow(w);
  CHECK(tree.fingerprint() == tree_of(w).fingerprint());
}

}  // namespace wick_test::weights_tests
