#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "../support/picture.hpp"
#include <wick/batch/ragged.hpp>
#include <wick/image/boxes.hpp>
#include <wick/image/detail/steps.hpp>
#include <wick/loader/loader.hpp>
#include <wick/sampling/zip.hpp>
#include <wick/sources/memory.hpp>
#include <wick/transforms/crop.hpp>
#include <wick/transforms/flip.hpp>
#include <wick/transforms/pad.hpp>
#include <wick/transforms/resize.hpp>

namespace wick_test::boxes_tests {

using wick::boxes;
using wick::detail::geometry_step;
using rows = std::vector<std::array<float, 4>>;

namespace {

const boxes four{.xyxy = {{10, 20, 30, 40}, {50, 5, 99.5f, 59}, {0, 0, 100, 60}, {90, 50, 95, 55}},
                 .labels = {1, 2, 3, 4},
                 .ids = {10, 20, 30, 40}};

/// On a picture of 100 x 60.
boxes after(const geometry_step& step, boxes of = four) {
  follow(of, step, {100, 60});
  return of;
}
bool close(const rows& a, const rows& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t k = 0; k < 4; ++k) {
      if (std::abs(a[i][k] - b[i][k]) > 1e-4f) return false;
    }
  }
  return true;
}
template <class... Stage>
boxes run(boxes from, const Stage&... stage) {
  wick::context c = context_at(0);
  wick::sample<wick::lazy_image, boxes> item{wick::image(100, 60, 3), std::move(from)};
  ((item = stage(std::move(item), c)), ...);
  return std::move(item.target);
}

}  // namespace

static_assert(wick::ext::stage<wick::detail::sanitize_boxes_stage>);

// The numbers are those of torchvision.transforms.v2.functional (0.29); it leaves boxes of size 0.

TEST_CASE(
    "a crop moves boxes and cuts them, and what is left of nothing is gone with all that belongs to it") {
  const boxes out = after(geometry_step::crop({20, 10, 60, 30}));
  CHECK(close(out.xyxy, {{0, 10, 10, 30}, {30, 0, 60, 30}, {0, 0, 60, 30}}));
  CHECK(out.labels == std::vector<std::int64_t>{1, 2, 3});
  CHECK(out.ids == std::vector<std::int64_t>{10, 20, 30});
  REQUIRE(out.visible.size() == 3);
  CHECK(out.visible[0] == doctest::Approx(0.5));
  CHECK(out.visible[1] == doctest::Approx(900 / (49.5 * 54)));
  CHECK(out.visible[2] == doctest::Approx(0.3));
}

TEST_CASE("shares that are left of several crops are multiplied, whatever happens between them") {
  boxes out = after(geometry_step::crop({20, 0, 80, 60}));
  CHECK(out.visible[0] == doctest::Approx(0.5));
  follow(out, geometry_step::resize(160, 30, wick::interpolation::bilinear), {80, 60});
  follow(out, geometry_step::mirror_x(), {160, 30});
  follow(out, geometry_step::crop({0, 0, 150, 30}), {160, 30});
  CHECK(close({out.xyxy[0]}, {{140, 10, 150, 20}}));
  CHECK(out.visible[0] == doctest::Approx(0.25));
}

TEST_CASE("resizes, flips and borders move them") {
  CHECK(close(after(geometry_step::resize(70, 33, wick::interpolation::bilinear)).xyxy,
              {{7, 11, 21, 22}, {35, 2.75f, 69.65f, 32.45f}, {0, 0, 70, 33}, {63, 27.5f, 66.5f, 30.25f}}));
  CHECK(close(after(geometry_step::mirror_x()).xyxy,
              {{70, 20, 90, 40}, {0.5f, 5, 50, 59}, {0, 0, 100, 60}, {5, 50, 10, 55}}));
  CHECK(close(after(geometry_step::mirror_y()).xyxy,
              {{10, 20, 30, 40}, {50, 1, 99.5f, 55}, {0, 0, 100, 60}, {90, 5, 95, 10}}));
  CHECK(close(after(geometry_step::pad({{3, 5, 7, 9}, {}, {}, 0})).xyxy,
              {{13, 25, 33, 45}, {53, 10, 102.5f, 64}, {3, 5, 103, 65}, {93, 55, 98, 60}}));
  CHECK(after(geometry_step::mirror_x()).visible == std::vector<float>(4, 1));
}

TEST_CASE("stages do the same to them as to the picture") {
  CHECK(run(four, wick::horizontal_flip()) == after(geometry_step::mirror_x()));
  CHECK(run(four, wick::center_crop(30, 60)) == after(geometry_step::crop({20, 15, 60, 30})));
  CHECK(run(four, wick::resize(33, 70)) ==
        after(geometry_step::resize(70, 33, wick::interpolation::bilinear)));
}

TEST_CASE("boxes that are too small, or of which too little is left, are taken away") {
  const boxes out = run({.xyxy = {{0, 0, 20, 20}, {5, 5, 5.5f, 50}, {-50, 0, 50, 10}, {95, 55, 200, 200}},
                         .labels = {1, 2, 3, 4}},
                        wick::sanitize_boxes({.min_size = 1, .min_visible = 0.25}));
  CHECK(out.labels == std::vector<std::int64_t>{1, 3});
  CHECK(close(out.xyxy, {{0, 0, 20, 20}, {0, 0, 50, 10}}));
  CHECK(run(four, wick::center_crop(60, 25), wick::sanitize_boxes({.min_visible = 0.3})).labels ==
        std::vector<std::int64_t>{});
  CHECK(run(four, wick::center_crop(60, 25), wick::sanitize_boxes({.min_visible = 0.2})).labels ==
        std::vector<std::int64_t>{2, 3});
}

TEST_CASE("without labels and ids nothing is made up, and no boxes are boxes too") {
  const boxes out = after(geometry_step::crop({0, 0, 35, 45}), {.xyxy = four.xyxy});
  CHECK(out.labels.empty());
  CHECK(out.ids.empty());
  CHECK(out.size() == 2);
  CHECK(after(geometry_step::crop({0, 0, 1, 1}), {}).empty());
}

TEST_CASE("what is no box is refused") {
  const auto said = [](boxes b) { return message_of([&] { return after(geometry_step::mirror_x(), b); }); };
  CHECK(contains(said({.xyxy = {{0, 0, 1, 1}}, .labels = {1, 2}}), "2 labels of 1 boxes"));
  CHECK(contains(said({.xyxy = {{0, 0, 1, 1}}, .ids = {1, 2}}), "2 ids of 1 boxes"));
  CHECK(contains(said({.xyxy = {{0, 0, 1, 1}, {50, 50, 20, 20}}}), "box 1", "left, top, right, bottom"));
  CHECK(contains(said({.xyxy = {{0, 0, std::numeric_limits<float>::quiet_NaN(), 1}}}), "box 0"));
  CHECK(contains(
      message_of([] { return run(four, wick::pad(3, {.padding_mode = wick::padding_mode::reflect})); }),
      "boxes", "padding_mode::constant"));
  CHECK(contains(message_of([] { return wick::sanitize_boxes({.min_size = -1}); }), "min_size"));
  CHECK(contains(message_of([] { return wick::sanitize_boxes({.min_visible = 1.5}); }), "min_visible"));
}

TEST_CASE("boxes are batched with padding, as fields of a struct of the user's") {
  struct found {
    wick::padded<wick::array> xyxy, labels, ids, visible;
  };
  struct pictures {
    wick::array data;
    found objects;
  };
  std::vector<boxes> all(5);
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t k = 0; k <= i % 3; ++k) {
      all[i].xyxy.push_back({static_cast<float>(k), 2, 30, 40});
      all[i].labels.push_back(static_cast<std::int64_t>(10 * i + k));
    }
  }
  wick::loader loader(
      wick::zip(wick::in_memory(std::vector<wick::image>(5, photo(64, 48))), wick::in_memory(all)) |
      wick::center_crop(32) | wick::array_batch<pictures>(5, {.ragged = wick::pad_with(-1)}));
  const auto batch = loader.next();
  REQUIRE(batch);
  const found& got = batch->objects;
  CHECK(got.xyxy.values.extents() == wick::shape{5, 3, 4});
  CHECK(got.labels.values.extents() == wick::shape{5, 3});
  CHECK(got.ids.values.extents() == wick::shape{5, 0});
  CHECK(got.visible.values.extents() == wick::shape{5, 3});
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(got.xyxy.lengths.as<std::int64_t>()[i] == static_cast<std::int64_t>(i % 3 + 1));
    for (std::size_t k = 0; k < 3; ++k) {
      CHECK(got.labels.values.as<std::int64_t>()[3 * i + k] ==
            (k <= i % 3 ? static_cast<std::int64_t>(10 * i + k) : -1));
      CHECK(got.xyxy.values.as<float>()[12 * i + 4 * k + 2] == (k <= i % 3 ? 14 : -1));  // 30 - 16
    }
  }
}

}  // namespace wick_test::boxes_tests
