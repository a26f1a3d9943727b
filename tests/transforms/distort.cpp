#include <array>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "stages.hpp"
#include <wick/transforms/distort.hpp>

namespace wick_test::distort_tests {

using wick::image;

TEST_CASE("random_channel_permutation gives each order of the colors equally often, and leaves gray alone") {
  image p(1, 1, 4);
  const std::uint8_t in[] = {1, 2, 3, 9};
  std::copy(in, in + 4, p.data());
  std::map<std::vector<int>, int> seen;
  for (std::uint64_t position = 0; position < 3000; ++position)
    ++seen[levels(pixels(wick::random_channel_permutation(), p, position))];
  REQUIRE(seen.size() == 6);
  for (const auto& [order, count] : seen) {
    CHECK(std::set<int>(order.begin(), order.end()) == std::set<int>{1, 2, 3, 9});
    CHECK(order[3] == 9);
    CHECK(std::abs(count - 500) < 120);
  }
  CHECK(pixels(wick::random_channel_permutation(), photo(5, 5, 1), 3) == photo(5, 5, 1));
}

TEST_CASE("random_photometric_distort does each of its changes as often as asked, and nothing with p = 0") {
  const image p = photo(20, 20);
  CHECK(pixels(wick::random_photometric_distort({.p = 0}), p) == p);
  const auto only_brightness = wick::random_photometric_distort(
      {.brightness = {0.5, 0.5}, .contrast = {1, 1}, .saturation = {1, 1}, .hue = {0, 0}, .p = 0.5});
  const image gray = flat(4, 4, 3, 100);  // whatever the order of the colors
  int dark = 0;
  for (std::uint64_t position = 0; position < 2000; ++position)
    dark += pixels(only_brightness, gray, position) == flat(4, 4, 3, 50);
  CHECK(std::abs(dark - 1000) < 120);
  std::set<std::vector<int>> different;
  for (std::uint64_t position = 0; position < 100; ++position) {
    different.insert(levels(pixels(wick::random_photometric_distort(), p, position)));
    CHECK(pixels(wick::random_photometric_distort(), p, position) ==
          pixels(wick::random_photometric_distort(), p, position));
  }
  CHECK(different.size() > 90);
}

TEST_CASE("ranges that mean nothing are refused by name") {
  const auto message = [](const wick::random_photometric_distort_options& o) {
    return message_of([&] { return wick::random_photometric_distort(o); });
  };
  CHECK(contains(message({.brightness = {-1, 1}}), "random_photometric_distort: brightness", "0 or more"));
  CHECK(contains(message({.contrast = {2, 1}}), "contrast 2.0", "least one first"));
  CHECK(contains(message({.saturation = {0, HUGE_VAL}}), "saturation"));
  CHECK(contains(message({.hue = {-0.6, 0}}), "hue -0.6", "-0.5 to 0.5"));
  CHECK(contains(message({.p = 3}), "probability"));
}

}  // namespace wick_test::distort_tests
