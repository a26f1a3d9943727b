#include <cmath>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "stages.hpp"
#include <wick/transforms/adjust.hpp>

namespace wick_test::adjust_tests {

using wick::image;

TEST_CASE("brightness, contrast, saturation and hue give torchvision's levels") {
  const image p = by_formula(3, 2, 3);
  CHECK(levels(pixels(wick::adjust_brightness(1.4), p)) ==
        row{0, 70, 140, 51, 121, 191, 207, 255, 255, 127, 197, 255, 197, 255, 255, 12, 82, 152});
  CHECK(levels(pixels(wick::adjust_contrast(1.4), p)) ==
        row{0, 25, 95, 7, 77, 147, 162, 232, 255, 83, 153, 223, 153, 223, 255, 0, 38, 108});
  CHECK(levels(pixels(wick::adjust_saturation(1.4), p)) ==
        row{0, 54, 124, 20, 90, 161, 132, 201, 255, 75, 145, 215, 124, 195, 255, 0, 63, 132});
  const row turned{10, 0, 100, 47, 37, 137, 158, 148, 248, 101, 91, 191, 151, 141, 241, 19, 9, 109};
  const row got = levels(pixels(wick::adjust_hue(0.1), p));
  REQUIRE(got.size() == turned.size());
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(std::abs(got[i] - turned[i]) <= 1);
}

TEST_CASE("sharpness gives torchvision's levels, and leaves the outermost pixels alone") {
  const image p = by_formula(5, 4);
  CHECK(levels(pixels(wick::adjust_sharpness(2), p)) ==
        row{0, 37, 148, 77, 80, 91, 163, 0, 255, 223, 182, 255, 109, 25, 110, 17, 93, 243, 211, 253});
  CHECK(levels(pixels(wick::adjust_sharpness(0), p)) ==
        row{0, 37, 148, 77, 80, 91, 119, 85, 145, 223, 182, 164, 143, 137, 110, 17, 93, 243, 211, 253});
  CHECK(levels(pixels(wick::adjust_sharpness(0.3), p)) ==
        row{0, 37, 148, 77, 80, 91, 125, 62, 163, 223, 182, 188, 137, 120, 110, 17, 93, 243, 211, 253});
  CHECK(pixels(wick::adjust_sharpness(0), photo(2, 9)) == photo(2, 9));
  CHECK(pixels(wick::adjust_sharpness(1), photo(40, 30)) == photo(40, 30));
}

TEST_CASE("interleaved pixels and planes give the same levels, and alpha stays as it is") {
  for (const int channels : {1, 2, 3, 4}) {
    for (const int width : {1, 3, 70}) {
      CHECK(same_in_each_layout(wick::adjust_sharpness(1.7), channels, width, 9));
      CHECK(same_in_each_layout(wick::adjust_contrast(1.7), channels, width, 9));
      CHECK(same_in_each_layout(wick::adjust_saturation(0.2), channels, width, 9));
    }
  }
}

TEST_CASE("random_adjust_sharpness happens as often as asked") {
  const image p = photo(16, 16), sharp = pixels(wick::adjust_sharpness(3), p);
  int changed = 0;
  for (std::uint64_t position = 0; position < 2000; ++position) {
    const image q = pixels(wick::random_adjust_sharpness(3, 0.25), p, position);
    REQUIRE((q == p || q == sharp));
    changed += q == sharp;
  }
  CHECK(std::abs(changed - 500) < 120);
}

TEST_CASE("amounts that mean nothing are refused by name") {
  CHECK(contains(message_of([] { return wick::adjust_brightness(-0.1); }), "adjust_brightness: factor -0.1"));
  CHECK(contains(message_of([] { return wick::adjust_contrast(NAN); }), "adjust_contrast: factor nan"));
  CHECK(contains(message_of([] { return wick::adjust_saturation(-1); }), "adjust_saturation", "0 or more"));
  CHECK(contains(message_of([] { return wick::adjust_hue(0.6); }), "adjust_hue: 0.6", "-0.5 to 0.5"));
  CHECK(contains(message_of([] { return wick::adjust_sharpness(-1); }), "adjust_sharpness"));
  CHECK(contains(message_of([] { return wick::random_adjust_sharpness(HUGE_VAL); }),
                 "random_adjust_sharpness"));
  CHECK(contains(message_of([] { return wick::random_adjust_sharpness(1, 2); }), "probability 2"));
}

}  // namespace wick_test::adjust_tests
