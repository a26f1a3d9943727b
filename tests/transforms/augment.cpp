#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "../transforms/stages.hpp"
#include <wick/batch/batch.hpp>
#include <wick/image/keypoints.hpp>
#include <wick/image/mask.hpp>
#include <wick/loader/loader.hpp>
#include <wick/sampling/order.hpp>
#include <wick/sources/memory.hpp>
#include <wick/transforms/adjust.hpp>
#include <wick/transforms/affine.hpp>
#include <wick/transforms/augment.hpp>
#include <wick/transforms/levels.hpp>
#include <wick/transforms/normalize.hpp>

namespace wick_test::augment_tests {

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
  CHECK(results(wick::rand_augment({.num_ops = 0}), p, 20) == std::set{levels(p)});
  // At strength 0 only autocontrast and equalize do anything; solarize from 255 on does next to nothing.
  CHECK(results(wick::rand_augment({.num_ops = 1, .magnitude = 0}), p, 300) ==
        std::set{levels(p), levels(pixels(wick::autocontrast(), p)), levels(pixels(wick::equalize(), p)),
                 levels(pixels(wick::solarize(255), p))});
}

TEST_CASE("many operations in a row are those done one after the other") {
  const image p = photo(30, 30);
  const auto stage = wick::rand_augment({.num_ops = 12});
  for (std::uint64_t position = 0; position < 20; ++position) {
    wick::context ctx = context_at(position);
    image one_by_one = p;
    for (const wick::detail::augment_op& op : stage.draw({30, 30}, ctx)) {
      wick::lazy_image next = std::move(one_by_one);
      if (op.color)
        next.apply(*op.color);
      else
        next.follow(op.move);
      one_by_one = std::move(next).pixels();
    }
    CHECK(pixels(stage, p, position) == one_by_one);
  }
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

TEST_CASE("what belongs to a picture follows the geometry of an augmentation, and its colors change alone") {
  struct scene {
    wick::lazy_image picture;
    wick::mask classes;
    wick::keypoints points;
  };
  const image p = photo(48, 40);
  image marked = flat(48, 40, 1, 1);
  for (const int y : {18, 19, 20}) {
    for (const int x : {27, 28, 29}) marked.row(y)[x] = 255;
  }
  const auto each = [&](const auto& stage) {
    int moved = 0, colored = 0;
    for (std::uint64_t position = 0; position < 400; ++position) {
      wick::context ctx = context_at(position);
      scene s = stage(scene{p, wick::mask(marked), {.xy = {{28.5F, 19.5F}}}}, ctx);
      const image alone = pixels(stage, p, position), classes = s.classes.pixels();
      CHECK(s.picture.pixels() == alone);
      REQUIRE(classes.width() == 48);
      const auto [x, y] = s.points.xy[0];
      const bool same = x == 28.5F && y == 19.5F;
      moved += !same;
      colored += same && !(alone == p);
      if (x > 1 && y > 1 && x < 47 && y < 39)
        CHECK(classes.row(static_cast<int>(y))[static_cast<int>(x)] == 255);
      if (!same) CHECK(levels(classes) != levels(marked));
      const std::vector<int> of_mask = levels(classes);
      const std::set<int> numbers(of_mask.begin(), of_mask.end());
      for (const int n : numbers) CHECK((n == 1 || n == 255 || (n == 9 && !same)));
    }
    CHECK(moved > 80);
    CHECK(colored > 80);
  };
  each(wick::rand_augment({.num_ops = 1, .mask_fill = 9}));
  each(wick::trivial_augment_wide({.mask_fill = 9}));
  each(wick::auto_augment(wick::auto_augment_policy::svhn, {.mask_fill = 9}));
}

TEST_CASE("augmented batches are the same at any number of workers and ranks") {
  std::vector<wick::sample<image, std::int64_t>> set;
  for (int i = 0; i < 32; ++i) set.push_back({photo(20, 16, 3, static_cast<std::uint64_t>(i) + 1), i});
  const auto rows = [&](std::size_t ranks, std::size_t workers) {
    std::set<std::vector<std::uint8_t>> out;  // label, then pixels
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      wick::loader l(wick::in_memory(set) | wick::shuffle() | wick::shard(rank, ranks) |
                         wick::rand_augment() | wick::trivial_augment_wide() | wick::auto_augment() |
                         wick::array_batch(8),
                     {.seed = 3, .workers = workers});
      for (auto& batch : l.epoch(1)) {
        const auto n = static_cast<std::size_t>(batch.data.extents()[0]);
        for (std::size_t i = 0; i < n; ++i) {
          const auto* const from = batch.data.template as<std::uint8_t>() + i * 960;
          std::vector<std::uint8_t> row{
              static_cast<std::uint8_t>(batch.target.template as<std::int64_t>()[i])};
          row.insert(row.end(), from, from + 960);
          out.insert(std::move(row));
        }
      }
    }
    return out;
  };
  const auto one = rows(1, 1);
  CHECK(one.size() == 32);
  CHECK(rows(1, 4) == one);
  CHECK(rows(2, 4) == one);
  CHECK(rows(4, 1) == one);
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
              wick::rand_augment({.fill = 128}), wick::rand_augment({.mask_fill = 128})));
  CHECK(count(wick::trivial_augment_wide(), wick::trivial_augment_wide({.num_magnitude_bins = 30}),
              wick::trivial_augment_wide({.interpolation = interpolation::bilinear}),
              wick::trivial_augment_wide({.fill = 128}), wick::trivial_augment_wide({.mask_fill = 128})));
  CHECK(count(wick::auto_augment(), wick::auto_augment(wick::auto_augment_policy::svhn),
              wick::auto_augment({}, {.interpolation = interpolation::bilinear}),
              wick::auto_augment({}, {.fill = 1}), wick::auto_augment({}, {.mask_fill = 1})));
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

}  // namespace wick_test::augment_tests
