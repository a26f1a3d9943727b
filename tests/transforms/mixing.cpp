#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "../support/picture.hpp"
#include <wick/core.hpp>
#include <wick/transforms/mixing.hpp>

namespace wick_test::mixing_tests {

using wick::soft_label;

namespace {

/// Sample i: flat pictures of level 10 · i, of class i.
struct flats {
  std::uint64_t count = 12;
  int width = 20, height = 10;
  std::uint64_t size() const { return count; }
  wick::sample<wick::lazy_image> at(std::uint64_t i) const {
    return {wick::lazy_image(flat(width, height, 3, static_cast<int>(10 * i))), static_cast<std::int64_t>(i)};
  }
  std::string key(std::uint64_t i) const { return "flat " + std::to_string(i); }
};
using labeled = wick::sample<wick::image, soft_label>;

double sum_of(const soft_label& l) {
  double sum = 0;
  for (const float x : l.shares) sum += static_cast<double>(x);
  return sum;
}

}  // namespace

TEST_CASE("shares are of the Beta distribution") {
  for (const double alpha : {0.05, 0.2, 1.0, 4.0}) {
    wick::random_stream random(5, 0, 0, 1);
    constexpr int n = 40000;
    double sum = 0, squares = 0;
    int low = 0;
    for (int i = 0; i < n; ++i) {
      const double x = wick::detail::draw_beta(random, alpha);
      REQUIRE(x >= 0);
      REQUIRE(x <= 1);
      sum += x;
      squares += x * x;
      low += x < 0.5;
    }
    const double mean = sum / n, variance = squares / n - mean * mean;
    CAPTURE(alpha);
    CHECK(std::abs(mean - 0.5) < 0.01);
    CHECK(std::abs(low / double{n} - 0.5) < 0.01);
    CHECK(variance == doctest::Approx(1 / (4 * (2 * alpha + 1))).epsilon(0.03));
  }
}

TEST_CASE("mixup blends pixels and labels by the same share") {
  wick::loader l(flats{} | wick::shuffle() | wick::mixup(12), {.seed = 4});
  int between = 0;
  for (labeled& s : l.epoch(0)) {
    CHECK(sum_of(s.target) == doctest::Approx(1));
    double level = 0;
    for (std::size_t k = 0; k < 12; ++k) level += 10.0 * static_cast<double>(k * s.target.shares[k]);
    for (const std::uint8_t pixel : s.data.pixels()) REQUIRE(std::abs(pixel - level) <= 0.5001);
    between +=
        std::count_if(s.target.shares.begin(), s.target.shares.end(), [](float x) { return x > 0; }) == 2;
  }
  CHECK(between >= 8);  // who draws itself stays as it is
}

TEST_CASE("cutmix puts a rectangle of the other over it, and labels count what is seen") {
  wick::loader l(flats{.count = 40, .width = 31, .height = 17} | wick::map([](auto s) {
                   s.target %= 12;
                   return s;
                 }) | wick::resize(17, 31) |
                     wick::cutmix(12),
                 {.seed = 4});
  int mixed = 0;
  for (labeled& s : l.epoch(0)) {
    CHECK(sum_of(s.target) == doctest::Approx(1));
    std::vector<double> seen(256);
    for (std::size_t i = 0; i < s.data.pixels().size(); i += 3) seen[s.data.pixels()[i]] += 1.0 / (31 * 17);
    std::vector<double> by_class(12);
    for (std::size_t level = 0; level < 256; ++level) {
      if (seen[level] > 0) REQUIRE(level % 10 < 10);
      by_class[level / 10 % 12] += seen[level];
    }
    int classes = 0;
    for (std::size_t k = 0; k < 12; ++k) classes += s.target.shares[k] > 0;
    CHECK(classes <= 2);
    mixed += classes == 2;
  }
  CHECK(mixed > 20);
}

TEST_CASE("what cutmix takes lies inside, and is centered where torchvision centers it") {
  wick::random_stream random(1, 0, 0, 0);
  for (int i = 0; i < 2000; ++i) {
    const double share = i / 2000.0;
    const int x = static_cast<int>(random.below(30)), y = static_cast<int>(random.below(50));
    const auto part = wick::detail::cut_at(x, y, 30, 50, share);
    const double r = 0.5 * std::sqrt(1 - share);
    const int x1 = std::max(x - int(r * 30), 0), x2 = std::min(x + int(r * 30), 30);
    const int y1 = std::max(y - int(r * 50), 0), y2 = std::min(y + int(r * 50), 50);
    REQUIRE(part.x == x1);
    REQUIRE(part.y == y1);
    REQUIRE(part.width == x2 - x1);
    REQUIRE(part.height == y2 - y1);
  }
}

TEST_CASE(
    "batches of pictures and soft labels are the same on any number of workers, ranks, and floats follow") {
  const auto run = [](std::size_t workers, std::uint64_t ranks) {
    std::vector<std::vector<float>> labels(3), levels(3);
    for (std::uint64_t rank = 0; rank < ranks; ++rank) {
      wick::loader l(flats{} | wick::shuffle() | wick::shard(rank, ranks) | wick::mixup(12, {.alpha = 0.4}) |
                         wick::cutmix(12, {.p = 0.5}) | wick::to_float() | wick::array_batch(4),
                     {.seed = 9, .workers = workers});
      std::size_t k = 0;
      for (auto& b : l.epoch(0)) {
        const float* const t = b.target.template as<float>();
        const float* const d = b.data.template as<float>();
        labels[k].insert(labels[k].end(), t, t + b.target.bytes() / sizeof(float));
        levels[k].insert(levels[k].end(), d, d + b.data.bytes() / sizeof(float));
        ++k;
      }
    }
    return std::pair(labels, levels);
  };
  const auto expected = run(1, 1);
  CHECK(expected.first[0].size() == 4 * 12);
  CHECK(expected.second[0].size() == 4 * 10 * 20 * 3);
  for (const std::size_t workers : {1, 4}) {
    for (const std::uint64_t ranks : {1, 2, 4}) CHECK((run(workers, ranks) == expected));
  }
}

namespace {

using detected = wick::sample<wick::image, std::tuple<wick::boxes, wick::mask>>;

/// Sample i: a picture of level i + 1 with sizes of its own, one box of its whole and one inside, a mask of
/// i.
struct scenes {
  std::uint64_t count = 30;
  std::uint64_t size() const { return count; }
  wick::sample<wick::lazy_image, std::tuple<wick::boxes, wick::mask>> at(std::uint64_t i) const {
    const int width = 30 + static_cast<int>(i * 7 % 40), height = 25 + static_cast<int>(i * 11 % 50);
    const auto label = static_cast<std::int64_t>(i + 1);
    wick::boxes b{.xyxy = {{0, 0, static_cast<float>(width), static_cast<float>(height)}, {5, 6, 17, 15}},
                  .labels = {label, label + 100}};
    return {wick::lazy_image(flat(width, height, 1, static_cast<int>(label))),
            {std::move(b), wick::mask(flat(width, height, 1, static_cast<int>(label)))}};
  }
};

}  // namespace

TEST_CASE("a mosaic's boxes and masks lie where its pictures do") {
  constexpr int side = 80;
  wick::loader l(scenes{} | wick::shuffle() | wick::mosaic(side / 2), {.seed = 2});
  int mosaics = 0;
  for (detected& s : l.epoch(0)) {
    const wick::image& picture = s.data;
    const auto& [boxes, mask] = s.target;
    REQUIRE(picture.width() == side);
    REQUIRE(picture.height() == side);
    const wick::image numbers = mask.pixels();
    REQUIRE(numbers.width() == side);
    std::size_t covered = 0;
    for (std::size_t i = 0; i < picture.pixels().size(); ++i) {
      const int level = picture.pixels()[i], number = numbers.pixels()[i];
      REQUIRE((level == 114 ? number == 0 : number == level));
      covered += level != 114;
    }
    REQUIRE(boxes.labels.size() == boxes.size());
    REQUIRE(boxes.visible.size() == boxes.size());
    std::size_t in_boxes = 0, whole = 0;
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      const auto [x1, y1, x2, y2] = boxes.xyxy[i];
      const int level = static_cast<int>(boxes.labels[i] % 100);
      for (int y = static_cast<int>(y1); y < static_cast<int>(y2); ++y) {
        for (int x = static_cast<int>(x1); x < static_cast<int>(x2); ++x) REQUIRE(picture.row(y)[x] == level);
      }
      CHECK(boxes.visible[i] > 0);
      if (boxes.labels[i] > 100) continue;
      ++whole;
      in_boxes += static_cast<std::size_t>((x2 - x1) * (y2 - y1));
    }
    CHECK(in_boxes == covered);  // the boxes of the whole pictures are all that is covered
    mosaics += whole == 4;
  }
  CHECK(mosaics == 30);
}

namespace {

struct scene {
  wick::lazy_image picture;
  wick::boxes objects;
  wick::mask classes;
};

}  // namespace

TEST_CASE("the pictures, boxes and masks of structs are put together as those of tuples are") {
  const auto as_it_is = [](auto s) { return s; };
  const auto as_struct = [](auto s) {
    auto& [objects, classes] = s.target;
    return scene{std::move(s.data), std::move(objects), std::move(classes)};
  };
  const auto with = [](const auto& f) {
    return wick::loader(scenes{} | wick::shuffle() | wick::map(f) | wick::mosaic(40), {.seed = 2});
  };
  auto expected = with(as_it_is);
  auto l = with(as_struct);
  for (int i = 0; i < 30; ++i) {
    const auto tuple = expected.next();
    const auto fields = l.next();
    REQUIRE(tuple);
    REQUIRE(fields);
    CHECK(fields->picture.pixels() == tuple->data);
    CHECK(fields->objects == std::get<0>(tuple->target));
    CHECK(fields->classes.pixels() == std::get<1>(tuple->target).pixels());
  }
}

TEST_CASE("a picture in a struct keeps its type in a mosaic") {
  wick::loader l(
      scenes{} |
          wick::map("struct",
                    [](auto s) {
                      auto& [objects, classes] = s.target;
                      wick::lazy_image picture(std::move(s.data).pixels(), {wick::dtype::int32, false, true});
                      return scene{std::move(picture), std::move(objects), std::move(classes)};
                    }) |
          wick::mosaic(40),
      {.seed = 2});
  const auto item = l.next();
  REQUIRE(item);
  CHECK(item->picture.type() == wick::dtype::int32);
}

TEST_CASE("a mosaic's masks keep their type, and have a fill of their own") {
  const auto of_type = [](wick::dtype type) {
    return wick::map("masks", [type](wick::sample<wick::image, std::tuple<wick::boxes, wick::mask>> s) {
      return wick::sample<wick::image, wick::mask>{
          std::move(s.data),
          wick::mask(wick::lazy_image(std::get<1>(s.target).pixels(), {type, false, true}))};
    });
  };
  for (const wick::dtype type : {wick::dtype::uint8, wick::dtype::int32}) {
    wick::loader l(scenes{} | of_type(type) | wick::mosaic(40, {.fill = 114, .mask_fill = 255}), {.seed = 2});
    auto item = l.next();
    CHECK(item->target.type() == type);
    const wick::image numbers = item->target.pixels();
    bool empty_there = false;
    for (std::size_t i = 0; i < numbers.pixels().size(); ++i) {
      const bool empty = item->data.pixels()[i] == 114;
      REQUIRE((numbers.pixels()[i] == 255) == empty);
      empty_there = empty_there || empty;
    }
    CHECK(empty_there);
  }
}

TEST_CASE("four tiles meet at the center, and each shows what is next to it") {
  const wick::detail::frame large{100, 90}, small{10, 8};
  const auto check = [](const wick::detail::mosaic_tile& t, wick::rect part, int x, int y) {
    CHECK(t.part.x == part.x);
    CHECK(t.part.y == part.y);
    CHECK(t.part.width == part.width);
    CHECK(t.part.height == part.height);
    CHECK(t.x == x);
    CHECK(t.y == y);
  };
  using wick::detail::tile_at;
  check(tile_at(0, 30, 40, large, 80), {70, 50, 30, 40}, 0, 0);
  check(tile_at(1, 30, 40, large, 80), {0, 50, 50, 40}, 30, 0);
  check(tile_at(2, 30, 40, large, 80), {70, 0, 30, 40}, 0, 40);
  check(tile_at(3, 30, 40, large, 80), {0, 0, 50, 40}, 30, 40);
  check(tile_at(0, 30, 40, small, 80), {0, 0, 10, 8}, 20, 32);
  check(tile_at(1, 30, 40, small, 80), {0, 0, 10, 8}, 30, 32);
  check(tile_at(2, 30, 40, small, 80), {0, 0, 10, 8}, 20, 40);
  check(tile_at(3, 30, 40, small, 80), {0, 0, 10, 8}, 30, 40);
}

TEST_CASE("without its probability a picture stands alone in the middle of the mosaic") {
  wick::loader l(scenes{} | wick::mosaic(40, {.p = 0, .fill = 0}), {});
  auto item = l.next();
  detected& s = *item;
  const auto& box = std::get<0>(s.target).xyxy.at(0);
  CHECK(box == std::array<float, 4>{25, 27, 55, 52});
  CHECK(s.data.row(27)[25] == 1);
  CHECK(s.data.row(26)[25] == 0);
}

TEST_CASE("what can't be mixed is an error") {
  CHECK_THROWS_AS(wick::mixup(0), wick::error);
  CHECK_THROWS_AS(wick::mixup(2, {.alpha = 0}), wick::error);
  CHECK_THROWS_AS(wick::cutmix(2, {.p = 2}), wick::error);
  CHECK_THROWS_AS(wick::mosaic(0), wick::error);
  CHECK_THROWS_AS(wick::mosaic(6'689), wick::error);  // more pixels than a stage may give
  CHECK_THROWS_AS(wick::mosaic(40, {.fill = 256}), wick::error);
  CHECK_THROWS_AS(wick::mosaic(40, {.mask_fill = -100}), wick::error);
  wick::loader few(flats{} | wick::mixup(3), {});
  CHECK(contains(message_of([&] {
                   while (few.next()) {
                   }
                 }),
                 "there are 3"));
  wick::image a(4, 4, 3);
  CHECK(contains(message_of([&] { wick::detail::blend(a, wick::image(4, 5, 3), 0.5); }), "one size"));
  CHECK(contains(message_of([&] { wick::detail::soften(soft_label{{1, 0}}, 3); }), "2 classes"));
}

}  // namespace wick_test::mixing_tests
