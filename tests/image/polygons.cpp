#include <array>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "../support/picture.hpp"
#include <wick/image/detail/steps.hpp>
#include <wick/image/keypoints.hpp>
#include <wick/image/polygons.hpp>
#include <wick/transforms/affine.hpp>
#include <wick/transforms/crop.hpp>

namespace wick_test::polygons_tests {

using wick::polygons;
using wick::detail::geometry_step;
using outline = std::vector<std::array<float, 2>>;

namespace {

const polygons two{.outlines = {{{10, 10}, {30, 10}, {30, 30}, {10, 30}}, {{80, 0}, {100, 0}, {100, 60}}},
                   .labels = {1, 2},
                   .ids = {7, 8}};

/// On a picture of 100 x 60.
polygons after(const geometry_step& step, polygons of = two) {
  follow(of, step, {100, 60});
  return of;
}

}  // namespace

TEST_CASE("resizes, flips and borders move outlines") {
  CHECK(after(geometry_step::resize(50, 120, wick::interpolation::bilinear)).outlines[1] ==
        outline{{40, 0}, {50, 0}, {50, 120}});
  CHECK(after(geometry_step::mirror_x()).outlines[1] == outline{{20, 0}, {0, 0}, {0, 60}});
  CHECK(after(geometry_step::mirror_y()).outlines[1] == outline{{80, 60}, {100, 60}, {100, 0}});
  CHECK(after(geometry_step::pad({{3, 5, 0, 0}, {}, {}, 0})).outlines[1] ==
        outline{{83, 5}, {103, 5}, {103, 65}});
  CHECK(after(geometry_step::pad({{3, 5, 0, 0}, {}, {}, 0})).labels == two.labels);
}

TEST_CASE("a crop cuts outlines, and those of which nothing is left are gone with what belongs to them") {
  const polygons left = after(geometry_step::crop({20, 0, 60, 20}));
  REQUIRE(left.size() == 1);
  CHECK(left.outlines[0] == outline{{0, 10}, {10, 10}, {10, 20}, {0, 20}});
  CHECK(left.labels == std::vector<std::int64_t>{1});
  CHECK(left.ids == std::vector<std::int64_t>{7});
  const polygons right = after(geometry_step::crop({90, 0, 10, 60}));
  CHECK(right.labels == std::vector<std::int64_t>{2});
  CHECK(right.outlines[0] == outline{{0, 0}, {10, 0}, {10, 60}, {0, 30}});
}

TEST_CASE("stages take them along with the picture") {
  wick::context c = context_at(0);
  wick::sample<wick::lazy_image, polygons> item{wick::image(100, 60, 3), two};
  item = wick::center_crop(60, 60)(std::move(item), c);
  CHECK(item.target == after(geometry_step::crop({20, 0, 60, 60})));
}

TEST_CASE("outlines turn and tilt as keypoints do, and are cut") {
  const auto moved = [](const auto& stage, const polygons& of) {
    wick::context c = context_at(0);
    std::tuple<wick::lazy_image, polygons, wick::keypoints> item{wick::image(100, 60, 3), of,
                                                                 wick::keypoints{.xy = of.outlines[0]}};
    item = stage(std::move(item), c);
    return std::pair(std::get<1>(item), std::get<2>(item).xy);
  };
  const auto [turned, points] = moved(wick::rotate(90, {.expand = true}), two);
  CHECK(turned.outlines ==
        std::vector<outline>{{{10, 90}, {10, 70}, {30, 70}, {30, 90}}, {{0, 20}, {0, 0}, {60, 0}}});
  CHECK(turned.outlines[0] == points);
  const auto check = [&](const auto& stage) {
    const auto [outlines, corners] = moved(stage, two);
    REQUIRE_FALSE(outlines.empty());
    CHECK(outlines.outlines[0] == corners);
    CHECK(corners != two.outlines[0]);
  };
  check(wick::affine({.angle = 20, .translate = {3, 9}, .scale = 0.7, .shear = {4, 2}}));
  check(wick::rotate(33, {.expand = true}));
  check(wick::perspective({{{0, 0}, {99, 0}, {99, 59}, {0, 59}}}, {{{9, 5}, {95, 0}, {90, 50}, {2, 59}}}));
  // One is moved out, half of the other.
  const polygons left =
      moved(wick::affine({.translate = {-20, 60 - 20}}), {two.outlines, {1, 2}, {7, 8}}).first;
  CHECK(left.labels == std::vector<std::int64_t>{1, 2});
  CHECK(left.outlines[0] == outline{{0, 50}, {10, 50}, {10, 60}, {0, 60}});
  CHECK(moved(wick::affine({.translate = {-50, 0}}), two).first.ids == std::vector<std::int64_t>{8});
}

TEST_CASE("other numbers of labels, corners that are none and borders that repeat the picture are refused") {
  const auto said = [](polygons p) {
    return message_of([&] { return after(geometry_step::mirror_x(), p); });
  };
  CHECK(contains(said({.outlines = {{{0, 0}}}, .labels = {1, 2}}), "2 labels of 1 outlines"));
  CHECK(contains(said({.outlines = {{{0, std::numeric_limits<float>::infinity()}}}}), "outline 0"));
  CHECK(contains(message_of([] {
                   return after(geometry_step::pad({3, {}, wick::padding_mode::edge, 0}));
                 }),
                 "polygons", "padding_mode::constant"));
}

}  // namespace wick_test::polygons_tests
