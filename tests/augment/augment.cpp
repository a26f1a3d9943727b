#include <cstdint>
#include <set>
#include <vector>

#include "../color/stages.hpp"
#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include <wick/augment/augment.hpp>
#include <wick/color/adjust.hpp>
#include <wick/color/levels.hpp>
#include <wick/image/affine.hpp>
#include <wick/image/normalize.hpp>

using namespace wick_test;
using wick::image;

// That each result is one of torchvision's, and that all of these come, is tried by
// tests/torchvision/color.py.

namespace {

template <class Stage>
std::set<std::vector<int>> results(const Stage& stage, const image& picture, std::uint64_t draws) {
  std::set<std::vector<int>> out;
  for (std::uint64_t position = 0; position < draws; ++position)
    out.insert(levels(pixels(stage, picture, position)));
  return out;
}

}  // namespace

TEST_CASE(
    "rand_augment draws each of its operations at its strength, in either direction where there are two") {
  const image p = photo(48, 40);
  const auto seen = results(wick::rand_augment({.num_ops = 1, .magnitude = 10}), p, 600);
  CHECK(seen.size() == 23);  // five without a direction, nine with two
  CHECK(seen.contains(levels(p)));
  CHECK(seen.contains(levels(pixels(wick::adjust_brightness(1 + 0.3f), p))));
  CHECK(seen.contains(levels(pixels(wick::adjust_sharpness(1 - 0.3f), p))));
  CHECK(seen.contains(levels(pixels(wick::rotate(10), p))));
  CHECK(seen.contains(levels(pixels(wick::rotate(-10), p))));
  CHECK(seen.contains(
      levels(pixels(wick::affine({.translate = {7, 0}}), p))));  // 150 / 331 of 48, a third of it
  CHECK(seen.contains(levels(pixels(wick::posterize(7), p))));
  CHECK(seen.contains(levels(pixels(wick::autocontrast(), p))));
  CHECK(seen.contains(levels(pixels(wick::equalize(), p))));
  CHECK_FALSE(seen.contains(levels(pixels(wick::invert(), p))));
}

TEST_CASE("no operations, or those of no strength, leave the picture alone") {
  const image p = photo(20, 20);
  CHECK(results(wick::rand_augment({.num_ops = 0}), p, 20).size() == 1);
  // At strength 0 only autocontrast and equalize do anything; solarize from 255 on does next to nothing.
  CHECK(results(wick::rand_augment({.num_ops = 1, .magnitude = 0}), p, 300).size() <= 4);
}

TEST_CASE("many operations in a row are those done one after the other") {
  const image p = photo(30, 30);
  const auto stage = wick::rand_augment({.num_ops = 12});
  for (std::uint64_t position = 0; position < 20; ++position)
    CHECK(pixels(stage, p, position) == pixels(stage, p, position));
  CHECK(results(stage, p, 50).size() == 50);
}

TEST_CASE("trivial_augment_wide draws strengths, too; auto_augment pairs of its policy") {
  const image p = photo(32, 32);
  CHECK(results(wick::trivial_augment_wide(), p, 800).size() > 200);
  using policy = wick::auto_augment_policy;
  const auto imagenet = results(wick::auto_augment(), p, 800),
             svhn = results(wick::auto_augment(policy::svhn), p, 800);
  CHECK(imagenet.size() > 30);
  CHECK(svhn.size() > 40);
  CHECK(imagenet != svhn);
  CHECK(imagenet != results(wick::auto_augment(policy::cifar10), p, 800));
}

TEST_CASE("each parameter that changes pixels changes the fingerprint") {
  using wick::interpolation;
  std::set<std::uint64_t> seen;
  const auto count = [&](auto... each) {
    seen = {each.fingerprint()...};
    return seen.size() == sizeof...(each);
  };
  CHECK(count(wick::rand_augment(), wick::rand_augment({.num_ops = 3}), wick::rand_augment({.magnitude = 8}),
              wick::rand_augment({.num_magnitude_bins = 30}),
              wick::rand_augment({.interpolation = interpolation::bilinear}),
              wick::rand_augment({.fill = 128})));
  CHECK(count(wick::trivial_augment_wide(), wick::trivial_augment_wide({.num_magnitude_bins = 30}),
              wick::trivial_augment_wide({.interpolation = interpolation::bilinear}),
              wick::trivial_augment_wide({.fill = 128})));
  CHECK(count(wick::auto_augment(), wick::auto_augment(wick::auto_augment_policy::svhn),
              wick::auto_augment({}, {.interpolation = interpolation::bilinear}),
              wick::auto_augment({}, {.fill = 1})));
}

TEST_CASE("what means nothing is refused by name") {
  using wick::interpolation;
  CHECK(contains(message_of([] { return wick::rand_augment({.num_ops = -1}); }),
                 "rand_augment: -1 operations"));
  CHECK(
      contains(message_of([] { return wick::rand_augment({.magnitude = 31}); }), "magnitude 31", "0 to 30"));
  CHECK(contains(message_of([] { return wick::rand_augment({.num_magnitude_bins = 1}); }), "1 strengths"));
  CHECK(contains(message_of([] { return wick::trivial_augment_wide({.num_magnitude_bins = 0}); }),
                 "trivial_augment_wide: 0 strengths"));
  CHECK(contains(message_of([] { return wick::auto_augment({}, {.interpolation = interpolation::bicubic}); }),
                 "auto_augment", "nearest or bilinear"));
  CHECK(contains(message_of([] {
                   return after(wick::rand_augment({.num_ops = 30}),
                                after(wick::normalize(0.5, 0.5), photo(9, 9)))
                       .width();
                 }),
                 "after normalize"));
}
