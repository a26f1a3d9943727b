#include <cstdint>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "../support/picture.hpp"
#include <wick/image/boxes.hpp>
#include <wick/image/keypoints.hpp>
#include <wick/image/mask.hpp>
#include <wick/transforms/letterbox.hpp>
#include <wick/transforms/resize.hpp>

namespace wick_test::letterbox_tests {

using wick::image;
using wick::rect;

namespace {

image apply(const wick::detail::letterbox_stage& stage, const image& p) {
  wick::context c = context_at(0);
  return stage(wick::lazy_image(p), c).pixels();
}

}  // namespace

static_assert(wick::detail::stage_of<wick::detail::letterbox_stage, wick::ext::stage_kind::sample_or_data>);

TEST_CASE("a letterbox holds the whole picture, as large as fits, in the middle") {
  CHECK(wick::letterbox(640).place_for(1280, 720) == rect{0, 140, 640, 360});
  CHECK(wick::letterbox(640).place_for(720, 1280) == rect{140, 0, 360, 640});
  CHECK(wick::letterbox(640).place_for(320, 320) == rect{0, 0, 640, 640});
  CHECK(wick::letterbox(640, {.enlarge = false}).place_for(321, 200) == rect{159, 220, 321, 200});
  CHECK(wick::letterbox(100, 200).place_for(10, 10) == rect{50, 0, 100, 100});
  CHECK(wick::letterbox(32).place_for(4000, 1) == rect{0, 15, 32, 1});
  for (int width = 1; width < 400; width += 7) {
    for (int height = 1; height < 400; height += 5) {
      const rect r = wick::letterbox(97, 131).place_for(width, height);
      CHECK((r.width == 131 || r.height == 97));
      CHECK((r.x >= 0 && r.y >= 0 && r.x + r.width <= 131 && r.y + r.height <= 97));
      const int right = 131 - r.x - r.width, below = 97 - r.y - r.height;
      CHECK((right - r.x == 0 || right - r.x == 1));
      CHECK((below - r.y == 0 || below - r.y == 1));
    }
  }
}

TEST_CASE("inside a letterbox is the resized picture, around it the fill") {
  const image p = photo(90, 40);
  const image got = apply(wick::letterbox(61, {.fill = 114}), p);
  REQUIRE(got.width() == 61);
  REQUIRE(got.height() == 61);
  wick::context c = context_at(0);
  const image inner = wick::resize(27, 61)(wick::lazy_image(p), c).pixels();
  for (int y = 0; y < 61; ++y) {
    for (int x = 0; x < 61 * 3; ++x) CHECK(got.row(y)[x] == (y >= 17 && y < 44 ? inner.row(y - 17)[x] : 114));
  }
  CHECK(apply(wick::letterbox(40, 90), p) == p);
}

TEST_CASE("masks, boxes and points are in the letterbox where the picture is") {
  image numbers(40, 20, 1);
  for (int i = 0; i < 800; ++i) numbers.data()[i] = 3;
  std::tuple<wick::lazy_image, wick::mask, wick::boxes, wick::keypoints> item{
      photo(40, 20), wick::mask(numbers), wick::boxes{.xyxy = {{4, 2, 10, 12}}, .labels = {5}},
      wick::keypoints{.xy = {{40, 20}, {0, 0}}}};
  wick::context c = context_at(0);
  item = wick::letterbox(80, {.mask_fill = 255})(std::move(item), c);
  const auto& [picture, classes, objects, points] = item;
  CHECK(objects.xyxy[0] == std::array<float, 4>{8, 24, 20, 44});
  CHECK(objects.visible == std::vector<float>{1});
  CHECK(points.xy == std::vector<std::array<float, 2>>{{80, 60}, {0, 20}});
  const image got = classes.pixels();
  for (int y = 0; y < 80; ++y) CHECK(got.row(y)[7] == (y >= 20 && y < 60 ? 3 : 255));
}

TEST_CASE("each parameter of a letterbox changes its fingerprint, and a size of nothing is refused") {
  const auto of = [](const auto& stage) { return stage.fingerprint(); };
  CHECK(std::set<std::uint64_t>{of(wick::letterbox(8)), of(wick::letterbox(9, 8)), of(wick::letterbox(8, 9)),
                                of(wick::letterbox(8, {.fill = 1})), of(wick::letterbox(8, {.mask_fill = 1})),
                                of(wick::letterbox(8, {.enlarge = false})),
                                of(wick::letterbox(8, {.interpolation = wick::interpolation::nearest}))}
            .size() == 7);
  CHECK(contains(message_of([] { return wick::letterbox(0); }), "letterbox", "at least 1"));
}

}  // namespace wick_test::letterbox_tests
