#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "../support/picture.hpp"
#include <wick/image/mask.hpp>
#include <wick/image/polygons.hpp>
#include <wick/transforms/random_iou_crop.hpp>

namespace wick_test::random_iou_crop_tests {

using wick::boxes;
using wick::image;

namespace {

using scene = std::tuple<wick::lazy_image, wick::mask, boxes>;

/// A mask, and a picture of the same levels, say where each pixel was.
image places() {
  image out(120, 90, 1);
  for (int y = 0; y < 90; ++y) {
    for (int x = 0; x < 120; ++x) out.row(y)[x] = static_cast<std::uint8_t>(x * 2 + (y % 2));
  }
  return out;
}
const boxes some{
    .xyxy = {{10, 10, 50, 60}, {70, 30, 115, 80}, {60, 5, 66, 9}}, .labels = {1, 2, 3}, .ids = {0, 1, 2}};

scene run(const wick::detail::random_iou_crop_stage& stage, std::uint64_t position, const boxes& of = some) {
  wick::context c = context_at(position);
  return stage(scene{places(), wick::mask(places()), of}, c);
}

double area(const std::array<float, 4>& b) { return (double{b[2]} - b[0]) * (double{b[3]} - b[1]); }

}  // namespace

TEST_CASE(
    "a crop by overlap keeps what has its middle in it, cut and with its label, and takes the mask along") {
  const auto stage = wick::random_iou_crop({.min_iou = {0, 0.3}});
  std::set<std::array<int, 4>> rects;
  std::set<std::size_t> counts;
  for (std::uint64_t position = 0; position < 300; ++position) {
    wick::context c = context_at(position);
    const auto part = stage.choose({120, 90}, some, c.random());
    REQUIRE(part);
    rects.insert({part->x, part->y, part->width, part->height});
    CHECK((part->width >= 36 && part->height >= 27 && part->x >= 0 && part->y >= 0));
    CHECK((part->x + part->width <= 120 && part->y + part->height <= 90));
    const double ratio = static_cast<double>(part->width) / part->height;
    CHECK((ratio >= 0.5 && ratio <= 2));
    const auto [picture, classes, objects] = run(stage, position);
    const image seen = picture.pixels();
    CHECK(seen == classes.pixels());
    REQUIRE(seen.width() == part->width);
    CHECK(seen.row(0)[0] == part->x * 2 + part->y % 2);
    boxes wanted;
    for (std::size_t i = 0; i < some.size(); ++i) {
      const auto& b = some.xyxy[i];
      const float x = (b[0] + b[2]) / 2 - static_cast<float>(part->x),
                  y = (b[1] + b[3]) / 2 - static_cast<float>(part->y);
      const auto width = static_cast<float>(part->width), height = static_cast<float>(part->height);
      if (x <= 0 || y <= 0 || x >= width || y >= height) continue;
      const auto px = static_cast<float>(part->x), py = static_cast<float>(part->y);
      wanted.xyxy.push_back({std::max(b[0] - px, 0.0F), std::max(b[1] - py, 0.0F), std::min(b[2] - px, width),
                             std::min(b[3] - py, height)});
      wanted.labels.push_back(some.labels[i]);
      CHECK(objects.visible[wanted.size() - 1] == doctest::Approx(area(wanted.xyxy.back()) / area(b)));
    }
    CHECK(objects.xyxy == wanted.xyxy);
    CHECK(objects.labels == wanted.labels);
    counts.insert(objects.size());
  }
  CHECK(rects.size() > 200);
  CHECK(counts == std::set<std::size_t>{1, 2, 3});
}

TEST_CASE("outlines go together with the boxes around them, those of one thing together") {
  const auto stage = wick::random_iou_crop({.min_iou = {0}});
  wick::polygons outlines{.outlines = {}, .labels = {5, 6, 7, 8}, .ids = {0, 1, 2, 0}};
  const auto around = [&](float left, float top, float right, float bottom) {
    outlines.outlines.push_back({{left, top}, {right, top}, {right, bottom}, {left, bottom}});
  };
  around(10, 10, 50, 20);  // thing 0 is of two parts, which reach from one side of its box to the other
  around(70, 30, 115, 80);
  around(60, 5, 66, 9);
  around(10, 50, 50, 60);
  std::set<std::size_t> gone, parts_of_0;
  for (std::uint64_t position = 0; position < 300; ++position) {
    wick::context c = context_at(position), again = context_at(position);
    const auto part = stage.choose({120, 90}, some, again.random());
    const auto [picture, objects, left] = stage(std::tuple{wick::lazy_image(places()), some, outlines}, c);
    // A part may lie outside where its box does not, and that of a box that is gone may not stay.
    const std::set<std::int64_t> boxed(objects.ids.begin(), objects.ids.end()),
        outlined(left.ids.begin(), left.ids.end());
    for (const std::int64_t id : outlined) CHECK(boxed.contains(id));
    for (const std::int64_t id : boxed) CHECK((id == 0 || outlined.contains(id)));
    REQUIRE(left.labels.size() == left.ids.size());
    gone.insert(some.size() - boxed.size());
    const auto of_0 = static_cast<std::size_t>(std::count(left.ids.begin(), left.ids.end(), 0));
    parts_of_0.insert(of_0);
    if (boxed.contains(0) && part->x < 50 && part->x + part->width > 10 && part->y < 20 &&
        part->y + part->height > 50)
      CHECK(of_0 == 2);
  }
  CHECK(gone == std::set<std::size_t>{0, 1, 2});
  CHECK(parts_of_0 == std::set<std::size_t>{0, 1, 2});
  // Without ids each outline is one thing.
  outlines.ids.clear();
  wick::detail::geometry_step crop = wick::detail::geometry_step::crop({0, 0, 120, 14});
  follow(outlines, crop, {120, 90});
  CHECK(outlines.labels == std::vector<std::int64_t>{5, 7});
  crop.by_middle = true;
  crop.part.height = 6;
  follow(outlines, crop, {120, 14});
  CHECK(outlines.labels.empty());
}

TEST_CASE("one of the boxes overlaps the crop by the share that was drawn") {
  const auto stage = wick::random_iou_crop({.min_iou = {0.5}});
  double least = 1;
  for (std::uint64_t position = 0; position < 200; ++position) {
    wick::context c = context_at(position);
    const auto part = stage.choose({120, 90}, some, c.random());
    REQUIRE(part);
    const double left = part->x, top = part->y, right = left + part->width, bottom = top + part->height;
    double best = 0;
    for (const auto& b : some.xyxy) {
      const double across = std::min<double>(b[2], right) - std::max<double>(b[0], left),
                   down = std::min<double>(b[3], bottom) - std::max<double>(b[1], top);
      const double both = std::max(across, 0.0) * std::max(down, 0.0);
      best = std::max(best, both / (area(b) + (right - left) * (bottom - top) - both));
    }
    least = std::min(least, best);
  }
  CHECK(least >= 0.5 - 1e-6);
  CHECK(least < 0.55);  // no more than was asked for
}

TEST_CASE("without boxes, for a share of 1, or where nothing fits the picture stays whole") {
  const auto whole = [](const scene& s) {
    const auto& [picture, classes, objects] = s;
    return picture.pixels() == places() && objects.visible == std::vector<float>(objects.size(), 1);
  };
  int left_alone = 0;
  for (std::uint64_t position = 0; position < 70; ++position) {
    CHECK(whole(run(wick::random_iou_crop({.min_iou = {1}}), position)));
    CHECK(whole(run(wick::random_iou_crop({.min_iou = {0}}), position, {.xyxy = {}})));
    left_alone += whole(run(wick::random_iou_crop(), position));
  }
  CHECK((left_alone > 2 && left_alone < 50));
  // A box of one pixel overlaps no crop that much: the search ends all the same.
  CHECK(whole(run(wick::random_iou_crop({.min_iou = {0.9}, .trials = 5}), 0, {.xyxy = {{3, 3, 4, 4}}})));
  wick::context c = context_at(0);
  CHECK_FALSE(wick::random_iou_crop().choose({1, 1}, {.xyxy = {{0, 0, 1, 1}}}, c.random()).has_value());
}

TEST_CASE("a picture without a value for its boxes stays whole") {
  const wick::detail::random_iou_crop_stage stage({});
  wick::context c = context_at(1);
  using unlabeled = std::tuple<wick::lazy_image, std::optional<boxes>>;
  CHECK(std::get<0>(stage(unlabeled{places(), std::nullopt}, c)).pixels() == places());
  using grouped = std::tuple<wick::lazy_image, std::vector<boxes>>;
  CHECK(std::get<0>(stage(grouped{places(), std::vector<boxes>()}, c)).pixels() == places());
}

TEST_CASE("each parameter of random_iou_crop changes its fingerprint, and what means nothing is refused") {
  const auto of = [](const auto& stage) { return stage.fingerprint(); };
  CHECK(std::set<std::uint64_t>{
            of(wick::random_iou_crop()), of(wick::random_iou_crop({.scale = {0.2, 1}})),
            of(wick::random_iou_crop({.ratio = {0.5, 1}})), of(wick::random_iou_crop({.min_iou = {0.5}})),
            of(wick::random_iou_crop({.min_iou = {0.5, 1}})), of(wick::random_iou_crop({.trials = 2}))}
            .size() == 6);
  const auto said = [](const wick::random_iou_crop_options& o) {
    return message_of([&] { return wick::random_iou_crop(o); });
  };
  CHECK(contains(said({.scale = {0, 1}}), "random_iou_crop: scale {0.0"));
  CHECK(contains(said({.scale = {0.5, 2}}), "shares of a side"));
  CHECK(contains(said({.ratio = {2, 1}}), "ratio {2.0"));
  CHECK(contains(said({.min_iou = {}}), "min_iou is empty"));
  CHECK(contains(said({.min_iou = {NAN}}), "min_iou nan"));
  CHECK(contains(said({.trials = 0}), "0 trials"));
  CHECK(contains(message_of([] {
                   return std::get<0>(run(wick::random_iou_crop(), 0, {.xyxy = {{9, 9, 1, 1}}})).width();
                 }),
                 "box 0"));
}

}  // namespace wick_test::random_iou_crop_tests
