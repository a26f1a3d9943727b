#include <utility>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "stages.hpp"
#include <wick/transforms/blur.hpp>

namespace wick_test::blur_tests {

using wick::image;

TEST_CASE("gaussian_blur gives torchvision's levels, borders mirrored") {
  const image p = by_formula(5, 4);
  CHECK(near(
      levels(pixels(wick::gaussian_blur(3, 1.0), p)),
      {74, 76, 99, 130, 153, 118, 110, 112, 125, 144, 146, 144, 146, 152, 164, 145, 158, 167, 160, 156}));
  CHECK(
      near(levels(pixels(wick::gaussian_blur({5, 3}, 0.7), p)),
           {57, 74, 96, 124, 135, 111, 115, 99, 138, 161, 154, 164, 142, 139, 151, 117, 150, 178, 172, 178}));
}

TEST_CASE("a blur keeps what is flat, and does nothing with a kernel of one or next to no deviation") {
  CHECK(pixels(wick::gaussian_blur(23, 5), flat(30, 40, 3, 200)) == flat(30, 40, 3, 200));
  CHECK(pixels(wick::gaussian_blur(23, 5), flat(30, 40, 3, 255)) == flat(30, 40, 3, 255));
  for (const auto& [kernel, deviation] : {std::pair{291, 2910.0}, {291, 10.0}, {901, 1.0}, {901, 9000.0}}) {
    CAPTURE(kernel);
    const image of_one_level = flat(460, 460, 1, 200);
    CHECK(pixels(wick::gaussian_blur(kernel, deviation), of_one_level) == of_one_level);
  }
  CHECK(pixels(wick::gaussian_blur(1, 5), photo(30, 40)) == photo(30, 40));
  CHECK(pixels(wick::gaussian_blur(9, 0.01), photo(30, 40)) == photo(30, 40));
}

TEST_CASE("the largest kernel that a picture can be mirrored for is as good as any, one more is an error") {
  const image p = photo(12, 5);
  CHECK_FALSE(pixels(wick::gaussian_blur({23, 9}, 3), p) == p);
  CHECK(contains(message_of([&] {
                   return pixels(wick::gaussian_blur({25, 9}, 3), p);
                 }),
                 "gaussian_blur", "12 x 5 px", "25 x 9 px"));
  CHECK(contains(message_of([&] {
                   return pixels(wick::random_gaussian_blur({3, 11}), p);
                 }),
                 "random_gaussian_blur", "12 x 5 px", "3 x 11 px"));
}

TEST_CASE("interleaved pixels and planes give the same levels, and alpha is blurred, too") {
  for (const int channels : {1, 2, 3, 4}) {
    for (const int width : {4, 70})
      CHECK(same_in_each_layout(wick::gaussian_blur({7, 3}, 1.3), channels, width, 9, false));
  }
}

TEST_CASE("a blurred picture mirrored is the mirrored one blurred, to the bit") {
  const image p = photo(33, 21);
  wick::lazy_image first = after(wick::gaussian_blur(9, 2.2), p), last = p;
  first.mirror_x();
  first.mirror_y();
  last.mirror_x();
  last.mirror_y();
  CHECK(first.pixels() == after(wick::gaussian_blur(9, 2.2), last.pixels()).pixels());
}

TEST_CASE("random_gaussian_blur draws the deviation and whether it blurs") {
  const image p = photo(20, 20), least = pixels(wick::gaussian_blur(5, 0.8), p);
  int changed = 0;
  double mean = 0;
  for (std::uint64_t position = 0; position < 1000; ++position) {
    const image q = pixels(wick::random_gaussian_blur(5, {.sigma = {0.8, 2}, .p = 0.5}), p, position);
    changed += !(q == p);
    mean += compare(q, least).mean;
    CHECK(q == pixels(wick::random_gaussian_blur(5, {.sigma = {0.8, 2}, .p = 0.5}), p, position));
  }
  CHECK(std::abs(changed - 500) < 80);
  CHECK(mean > 0);
  CHECK(pixels(wick::random_gaussian_blur(5, {.sigma = {0.8, 0.8}}), p) == least);
}

TEST_CASE("kernels and deviations that mean nothing are refused by name") {
  CHECK(contains(message_of([] { return wick::gaussian_blur(4, 1); }), "gaussian_blur", "4 x 4 px", "odd"));
  CHECK(contains(message_of([] { return wick::gaussian_blur({3, 0}, 1); }), "3 x 0 px"));
  CHECK(contains(message_of([] { return wick::gaussian_blur(3, 0); }), "gaussian_blur: sigma 0", "above 0"));
  CHECK(contains(message_of([] {
                   return wick::random_gaussian_blur(3, {.sigma = {2, 1}});
                 }),
                 "random_gaussian_blur: sigma 2.0", "the least one first"));
  CHECK(contains(message_of([] { return wick::random_gaussian_blur(3, {.p = 2}); }), "probability 2"));
}

}  // namespace wick_test::blur_tests
