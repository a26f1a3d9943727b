#include <cmath>
#include <set>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "../support/picture.hpp"
#include <wick/transforms/crop.hpp>

namespace wick_test::crop_tests {

static_assert(wick::detail::stage_of<wick::detail::center_crop_stage, wick::ext::stage_kind::sample_or_data>);
static_assert(wick::detail::stage_of<wick::detail::random_crop_stage, wick::ext::stage_kind::sample_or_data>);
static_assert(
    wick::detail::stage_of<wick::detail::random_resized_crop_stage, wick::ext::stage_kind::sample_or_data>);

using wick::image;
using wick::rect;

namespace {

template <class Stage>
wick::lazy_image run(const Stage& stage, const image& picture, std::uint64_t position = 0) {
  wick::context ctx = context_at(position);
  return stage(wick::lazy_image(picture), ctx);
}

}  // namespace

TEST_CASE("center_crop rounds halves to even, as torchvision does") {
  // (picture, crop) → offset, by Python: int(round((picture - crop) / 2.0))
  const int cases[][3] = {{10, 4, 3}, {9, 4, 2},      {11, 4, 4},     {7, 4, 2},      {5, 4, 0},
                          {4, 4, 0},  {375, 224, 76}, {256, 224, 16}, {500, 223, 138}};
  for (const auto& [size, crop, offset] : cases) {
    CHECK(run(wick::center_crop(crop), image(size, size, 3)).geometry().source ==
          rect{offset, offset, crop, crop});
  }
  CHECK(run(wick::center_crop(3, 5), photo(9, 9)).extents() == wick::shape{3, 5, 3});
}

TEST_CASE("a crop larger than the picture is an error that names both sizes") {
  const image p = photo(100, 80);
  const char* const text = "crop 224 x 224 is larger than the picture, 100 x 80; resize first or pad";
  CHECK(message_of([&] { return run(wick::center_crop(224), p); }) == text);
  CHECK(message_of([&] { return run(wick::random_crop(224), p); }) == text);
  CHECK(contains(message_of([&] { return run(wick::random_crop(90, 20), p); }), "20 x 90", "100 x 80"));
}

TEST_CASE("sizes and ranges that make no crop are refused when the stage is made") {
  CHECK(contains(message_of([] { return wick::center_crop(0); }), "center_crop", "0 x 0"));
  CHECK(contains(message_of([] { return wick::random_crop(8, -1); }), "random_crop", "-1 x 8"));
  CHECK(contains(message_of([] { return wick::random_crop(8, {.padding = -1}); }), "negative padding"));
  CHECK(contains(message_of([] { return wick::random_resized_crop(-3); }), "random_resized_crop"));
  CHECK(contains(message_of([] {
                   return wick::random_resized_crop(8, {.scale = {0.5, 0.2}});
                 }),
                 "scale", "smaller first"));
  CHECK(contains(message_of([] { return wick::random_resized_crop(8, {.ratio = {0, 1}}); }), "ratio"));
}

TEST_CASE("random_crop reaches every position, about equally often") {
  const image p(12, 9, 3);
  std::vector<int> seen(5 * 3);
  const auto stage = wick::random_crop(7, 8);
  for (std::uint64_t position = 0; position < 6000; ++position) {
    const rect r = run(stage, p, position).geometry().source;
    REQUIRE((r.width == 8 && r.height == 7));
    ++seen[static_cast<std::size_t>(r.y * 5 + r.x)];
  }
  for (const int n : seen) CHECK(std::abs(n - 400) < 120);  // six deviations
}

TEST_CASE("random_crop pads before it cuts") {
  const image p = flat(32, 32, 3, 200);
  bool touched_border = false;
  for (std::uint64_t position = 0; position < 40; ++position) {
    const image q = run(wick::random_crop(32, {.padding = 4, .fill = {1, 2, 3}}), p, position).pixels();
    REQUIRE(q.width() == 32);
    for (int i = 0; i < 32 * 32; ++i) {
      const std::uint8_t* v = q.data() + i * 3;
      const bool border = v[0] == 1 && v[1] == 2 && v[2] == 3;
      touched_border = touched_border || border;
      CHECK((border || (v[0] == 200 && v[1] == 200 && v[2] == 200)));
    }
  }
  CHECK(touched_border);
  CHECK(run(wick::random_crop(40, {.pad_if_needed = true}), p).extents() == wick::shape{40, 40, 3});
}

TEST_CASE("random_resized_crop stays in its bounds of area and shape, inside the picture") {
  const auto stage = wick::random_resized_crop(224);
  double area = 0;
  std::set<int> lefts;
  for (std::uint64_t position = 0; position < 3000; ++position) {
    wick::context ctx = context_at(position);
    const rect r = stage.choose(500, 375, ctx.random());
    CHECK((r.x >= 0 && r.y >= 0 && r.x + r.width <= 500 && r.y + r.height <= 375));
    const double share = r.width * r.height / (500.0 * 375.0),
                 shape = static_cast<double>(r.width) / r.height;
    CHECK((share > 0.079 && share < 1.001));
    CHECK((shape > 0.74 && shape < 1.35));
    area += share;
    lefts.insert(r.x);
  }
  CHECK(area / 3000 > 0.40);  // uniform in [0.08, 1], less what did not fit
  CHECK(area / 3000 < 0.55);
  CHECK(lefts.size() > 150);
}

TEST_CASE("random_resized_crop follows torchvision's get_params, draw for draw") {
  const auto stage = wick::random_resized_crop(64);
  for (std::uint64_t position = 0; position < 200; ++position) {
    wick::context ctx = context_at(position), same = context_at(position);
    const rect r = stage.choose(640, 480, ctx.random());
    wick::random_stream& random = same.random();
    for (int attempt = 0; attempt < 10; ++attempt) {
      const double wanted = 640.0 * 480.0 * random.uniform(0.08, 1.0);
      const double ratio = std::exp(random.uniform(std::log(3.0 / 4.0), std::log(4.0 / 3.0)));
      const auto w = std::lrint(std::sqrt(wanted * ratio)), h = std::lrint(std::sqrt(wanted / ratio));
      if (w < 1 || w > 640 || h < 1 || h > 480) continue;
      const auto i = random.below(static_cast<std::uint64_t>(480 - h + 1)),
                 j = random.below(static_cast<std::uint64_t>(640 - w + 1));
      CHECK(r == rect{static_cast<int>(j), static_cast<int>(i), static_cast<int>(w), static_cast<int>(h)});
      break;
    }
  }
}

TEST_CASE("where no crop fits, random_resized_crop takes the middle at the nearest shape") {
  const auto stage =
      wick::random_resized_crop(8, {.scale = {4.0, 4.0}});  // four times the picture never fits
  wick::context ctx = context_at(0);
  CHECK(stage.choose(100, 100, ctx.random()) == rect{0, 0, 100, 100});
  CHECK(stage.choose(1000, 30, ctx.random()) == rect{480, 0, 40, 30});
  CHECK(stage.choose(30, 1000, ctx.random()) == rect{0, 480, 30, 40});
  CHECK(stage.choose(1, 1, ctx.random()) == rect{0, 0, 1, 1});
}

TEST_CASE("a random crop depends on seed, epoch, position and stage, and on nothing else") {
  const auto stage = wick::random_resized_crop(16);
  const auto choose = [&](std::uint64_t seed, std::uint64_t epoch, std::uint64_t position,
                          std::uint32_t number) {
    wick::context ctx = context_at(position, seed, epoch);
    ctx.enter(number);
    return stage.choose(5000, 4000, ctx.random());
  };
  const rect r = choose(1, 2, 3, 4);
  CHECK(choose(1, 2, 3, 4) == r);
  CHECK_FALSE(choose(0, 2, 3, 4) == r);
  CHECK_FALSE(choose(1, 0, 3, 4) == r);
  CHECK_FALSE(choose(1, 2, 0, 4) == r);
  CHECK_FALSE(choose(1, 2, 3, 0) == r);
}

}  // namespace wick_test::crop_tests
