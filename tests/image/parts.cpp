// Samples of several parts: one geometry for all, colors for pictures, the same batches at any number of
// workers and ranks.
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "../support/picture.hpp"
#include "../support/temp_dir.hpp"
#include <wick/core.hpp>

namespace wick_test::parts_tests {

using wick::boxes;
using wick::image;
using wick::keypoints;
using wick::lazy_image;
using wick::mask;
using wick::sample;

namespace {

struct scene {
  lazy_image picture;
  mask classes;
  boxes objects;
  keypoints points;
  std::int64_t label;
};

struct frames_of_clip {
  std::vector<lazy_image> frames;
  std::optional<lazy_image> cover;
};

/// The first channel.
image first_of(const image& from) {
  image out(from.width(), from.height(), 1);
  for (std::size_t i = 0; i < out.pixels().size(); ++i)
    out.data()[i] = from.data()[i * static_cast<std::size_t>(from.channels())];
  return out;
}

template <class Item, class... Stage>
Item run(Item item, std::uint64_t position, const Stage&... stage) {
  wick::context c = context_at(position);
  std::uint32_t number = 0;
  ((c.enter(number++), item = stage(std::move(item), c)), ...);
  return item;
}

/// A folder of pictures, and one of masks that are their first channels.
struct data_set {
  explicit data_set(int count) {
    for (int i = 0; i < count; ++i) {
      const image picture = photo(40 + i % 7, 30 + i % 5, 3, static_cast<std::uint64_t>(i) + 1);
      const std::string name = "/" + std::to_string(i) + ".png";
      write_file(folder.path().string() + "/img" + name, encode_png(picture));
      write_file(folder.path().string() + "/mask" + name, encode_png(first_of(picture)));
    }
  }
  std::string pattern(const char* part) const { return folder.path().string() + "/" + part + "/*.png"; }
  auto source() const { return wick::zip(wick::files(pattern("img")), wick::files(pattern("mask"))); }
  temp_dir folder;
};

}  // namespace

TEST_CASE("one set of random parameters moves picture, mask, boxes and points") {
  const image picture = photo(60, 50);
  const std::tuple all{wick::random_crop(40, 44, {.padding = 3}), wick::random_horizontal_flip(),
                       wick::random_vertical_flip()};
  std::vector<std::array<float, 2>> corners;
  for (std::uint64_t position = 0; position < 40; ++position) {
    // A single pixel: its box, its point, and its place in the mask.
    image dot(60, 50, 1);
    std::fill(dot.pixels().begin(), dot.pixels().end(), std::uint8_t{0});
    dot.row(25)[30] = 200;
    scene s{picture, dot, {.xyxy = {{30, 25, 31, 26}}, .labels = {5}}, {.xy = {{30, 25}}}, 9};
    s = std::apply([&](const auto&... stage) { return run(std::move(s), position, stage...); }, all);
    const image got = s.classes.pixels();
    REQUIRE(s.objects.size() == 1);
    CHECK(s.label == 9);
    CHECK(s.objects.labels == std::vector<std::int64_t>{5});
    const auto box = s.objects.xyxy[0];
    CHECK(got.row(static_cast<int>(box[1]))[static_cast<int>(box[0])] == 200);
    CHECK(s.points.xy[0] == std::array<float, 2>{box[0], box[1]});
    CHECK(s.points.visible[0] == 1);
    corners.push_back(s.points.xy[0]);
    // The picture is what it is without company.
    const image alone =
        std::apply([&](const auto&... stage) { return run(lazy_image(picture), position, stage...); }, all)
            .pixels();
    CHECK(s.picture.pixels() == alone);
  }
  std::sort(corners.begin(), corners.end());
  CHECK(std::unique(corners.begin(), corners.end()) - corners.begin() > 30);
}

TEST_CASE(
    "affine, rotate and perspective move boxes and points as torchvision does, and take the mask along") {
  const auto moved = [](const auto& stage) {
    const image picture = photo(40, 30);
    return run(scene{picture,
                     first_of(picture),
                     {.xyxy = {{4, 6, 14, 12}, {0, 0, 40, 30}, {36, 2, 40, 4}}},
                     {.xy = {{4, 6}, {20, 15}, {39, 1}}},
                     0},
               0, stage);
  };
  const auto check = [](scene s, const std::array<std::array<float, 4>, 3>& wanted_boxes,
                        const std::array<std::array<float, 2>, 3>& wanted_points) {
    REQUIRE(s.objects.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t k = 0; k < 4; ++k)
        CHECK(s.objects.xyxy[i][k] == doctest::Approx(wanted_boxes[i][k]).epsilon(1e-5));
      for (std::size_t k = 0; k < 2; ++k)
        CHECK(s.points.xy[i][k] == doctest::Approx(wanted_points[i][k]).epsilon(1e-5));
    }
    CHECK(s.classes.pixels() == first_of(s.picture.pixels()));
  };
  constexpr auto nearest = wick::interpolation::nearest;
  scene s = moved(wick::affine({.angle = 30, .translate = {3, -2}, .scale = 0.8, .shear = {5, 0}}));
  CHECK(s.points.visible == std::vector<std::uint8_t>{1, 1, 0});
  check(std::move(s),
        {{{13.296717f, 0.679576f, 22.988604f, 8.626526f},
          {2.234384f, 0, 40, 30},
          {39.151879f, 10.848278f, 40, 13.763927f}}},
        {{{16.060400f, 0.679576f}, {23, 13.000002f}, {42.612183f, 11.390453f}}});
  s = moved(wick::rotate(20, {.expand = true}));
  CHECK(s.picture.width() == 48);
  CHECK(s.classes.height() == 42);
  check(std::move(s),
        {{{5.810891f, 14.530680f, 17.259939f, 23.589039f},
          {0, 0, 47.848309f, 41.871582f},
          {34.512974f, 1.879385f, 38.955784f, 5.126851f}}},
        {{{5.810891f, 17.950881f}, {23.924155f, 20.935793f}, {36.990032f, 1.281713f}}});
  check(moved(wick::rotate(90, {.expand = true})), {{{6, 26, 12, 36}, {0, 0, 30, 40}, {2, 0, 4, 4}}},
        {{{6, 36}, {15, 20}, {1, 1}}});
  check(moved(wick::rotate(180)), {{{26, 18, 36, 24}, {0, 0, 40, 30}, {0, 26, 4, 28}}},
        {{{36, 24}, {20, 15}, {1, 29}}});
  check(moved(wick::perspective({{{0, 0}, {39, 0}, {39, 29}, {0, 29}}},
                                {{{3, 2}, {35, 4}, {38, 27}, {1, 25}}}, {.interpolation = nearest})),
        {{{5.757899f, 6.438134f, 14.541596f, 11.439948f},
          {0.919734f, 2, 39.060738f, 27.971815f},
          {32.723148f, 5.233361f, 36.190779f, 6.848386f}}},
        {{{6.045470f, 6.438134f}, {19.790834f, 14.093164f}, {35.089951f, 4.689627f}}});
}

TEST_CASE(
    "stages of geometry say what is visible also of what they leave alone, so that a batch has it of all") {
  const auto check = [](const auto& stage) {
    for (std::uint64_t position = 0; position < 40; ++position) {
      scene s{photo(60, 50),
              photo(60, 50, 1),
              {.xyxy = {{20, 20, 40, 30}, {0, 0, 60, 50}}},
              {.xy = {{30, 25}}},
              0};
      s = run(std::move(s), position, stage);
      REQUIRE(s.objects.visible.size() == s.objects.size());
      for (const float share : s.objects.visible) CHECK((share > 0 && share <= 1));
      REQUIRE(s.points.visible.size() == 1);
    }
  };
  check(wick::random_horizontal_flip());
  check(wick::random_horizontal_flip(0));
  check(wick::random_perspective());
  check(wick::random_iou_crop());
  check(wick::rand_augment());
  check(wick::resize(50, 60));
}

TEST_CASE("what a rotation leaves nothing of is gone, and a mask has its own fill") {
  scene s{photo(40, 30),
          first_of(photo(40, 30)),
          {.xyxy = {{0, 0, 3, 3}, {15, 10, 25, 20}}, .ids = {7, 8}},
          {},
          0};
  s = run(std::move(s), 0, wick::rotate(45, {.fill = 9, .mask_fill = 255}));
  CHECK(s.objects.ids == std::vector<std::int64_t>{8});
  CHECK(s.classes.pixels().row(0)[0] == 255);
  CHECK(s.picture.pixels().row(0)[0] == 9);
}

TEST_CASE("random_resized_crop, resize and center_crop take picture and mask alike") {
  const image picture = photo(90, 70);
  for (std::uint64_t position = 0; position < 20; ++position) {
    sample<lazy_image, mask> s{picture, first_of(picture)};
    const auto stage = wick::random_resized_crop(33, 37, {.interpolation = wick::interpolation::nearest});
    s = run(std::move(s), position, stage, wick::random_horizontal_flip(), wick::center_crop(20));
    CHECK(s.target.pixels() == first_of(s.data.pixels()));
  }
}

TEST_CASE("tuples, samples of tuples, structs and user's pixels are samples of parts") {
  const image picture = photo(20, 10);
  const image flipped = run(lazy_image(picture), 0, wick::horizontal_flip()).pixels();
  using pair = std::tuple<lazy_image, mask>;
  const auto t = run(pair{picture, first_of(picture)}, 0, wick::horizontal_flip());
  CHECK(std::get<0>(t).pixels() == flipped);
  CHECK(std::get<1>(t).pixels() == first_of(flipped));
  const auto s = run(sample<image, mask>{picture, first_of(picture)}, 0, wick::horizontal_flip());
  CHECK(s.data == flipped);
  CHECK(s.target.pixels() == first_of(flipped));
  const auto n = run(sample<pair, keypoints>{{picture, first_of(picture)}, {.xy = {{0, 0}}}}, 0,
                     wick::horizontal_flip());
  CHECK(std::get<1>(n.data).pixels() == first_of(flipped));
  CHECK(n.target.xy[0][0] == 19);
}

namespace {

/// A part of the user's: the left edge of something, in px.
class left_edge {
 public:
  explicit left_edge(int at) : at_(at) {}
  template <class Step, class Frame>
  void follow(const Step& step, Frame in) {
    if (step.what == Step::kind::mirror_x) at_ = in.width - at_;
    if (step.what == Step::kind::crop) at_ -= step.part.x;
  }
  int at() const { return at_; }

 private:
  int at_;
};

}  // namespace

TEST_CASE("a class of the user's takes part by a member follow()") {
  const image picture = photo(20, 10);
  auto s = run(sample<lazy_image, left_edge>{picture, left_edge(3)}, 0, wick::horizontal_flip());
  CHECK(s.target.at() == 17);
  s = run(std::move(s), 0, wick::center_crop(10));
  CHECK(s.target.at() == 12);
  CHECK(s.data.width() == 10);
}

namespace {

/// Parts in all that a struct may have in it.
struct crowd {
  lazy_image picture;
  std::vector<mask> instances;
  std::optional<boxes> objects;
  std::vector<std::optional<keypoints>> people;
  std::array<mask, 2> halves;
  std::string name;
  std::vector<std::tuple<float, mask>> scored;
};

struct of_nine {
  int a, b, c, d, e, f, g, h, i;
};

}  // namespace

}  // namespace wick_test::parts_tests

template <>
inline constexpr bool wick::ext::has_no_parts<wick_test::parts_tests::of_nine> = true;

namespace wick_test::parts_tests {

TEST_CASE("parts in vectors, arrays and optionals follow the picture") {
  const image picture = photo(20, 10);
  const image one = first_of(picture),
              turned = first_of(run(lazy_image(picture), 0, wick::horizontal_flip()).pixels());
  crowd c{picture, {}, boxes{.xyxy = {{0, 0, 2, 2}}}, {}, {one, one}, "a name", {}};
  for (int i = 0; i < 3; ++i) c.instances.emplace_back(one);
  c.people.push_back(keypoints{.xy = {{0, 0}}});
  c.people.emplace_back();
  c.scored.emplace_back(0.5F, one);
  c = run(std::move(c), 0, wick::horizontal_flip());
  CHECK(first_of(c.picture.pixels()) == turned);
  for (const mask& m : c.instances) CHECK(m.pixels() == turned);
  for (const mask& m : c.halves) CHECK(m.pixels() == turned);
  CHECK(std::get<1>(c.scored[0]).pixels() == turned);
  CHECK(c.objects->xyxy[0] == std::array<float, 4>{18, 0, 20, 2});
  CHECK(c.people[0]->xy[0][0] == 19);
  CHECK(!c.people[1]);
  CHECK(c.name == "a name");
  // Also where the other half of the sample is an optional, or has nothing.
  auto s = run(sample<lazy_image, std::optional<boxes>>{picture, boxes{.xyxy = {{0, 0, 2, 2}}}}, 0,
               wick::horizontal_flip());
  CHECK(s.target->xyxy[0] == std::array<float, 4>{18, 0, 20, 2});
  s.target.reset();
  CHECK(!run(std::move(s), 0, wick::horizontal_flip()).target);
  // Colors are for pictures in them, and sizes are compared.
  std::vector<lazy_image> two;
  two.emplace_back(picture);
  two.emplace_back(picture);
  const auto gray = run(std::move(two), 0, wick::random_grayscale(1.0));
  CHECK(gray[0].pixels() == gray[1].pixels());
  CHECK(!(gray[1].pixels() == picture));
  std::vector<mask> other_size;
  other_size.emplace_back(first_of(photo(10, 20)));
  CHECK(contains(message_of([&] {
                   return run(sample<lazy_image, std::vector<mask>>{picture, std::move(other_size)}, 0,
                              wick::horizontal_flip());
                 }),
                 "20 x 10", "10 x 20"));
}

TEST_CASE("no undecoded picture leaves a group, also in a vector or an optional") {
  const std::string whole = encode_png(photo(64, 48));
  // Its header is right, so that only decoding finds the damage.
  const std::string damaged = make_png({.width = 64, .height = 48, .compressed = std::string(40, 'x')});
  const auto frames = [&](std::int64_t i, wick::context& c) {
    const auto picture = [&](bool good) { return wick::decode()(as_bytes(good ? whole : damaged), c); };
    frames_of_clip out;
    out.frames.push_back(picture(true));
    out.frames.push_back(picture(i != 2));
    out.cover = picture(i != 3);
    return out;
  };
  wick::loader l(wick::from(std::vector<std::int64_t>{0, 1, 2, 3}) | wick::map("frames", frames) |
                     wick::resize(24, 32) | wick::group(4),
                 {.workers = 1, .on_error = wick::on_error::skip});
  auto group = l.next();
  REQUIRE(group);
  CHECK(group->size() == 2);
  CHECK(l.failure_log().entries().size() == 2);
  for (auto& clip : *group) {
    for (auto& frame : clip.frames) CHECK(std::move(frame).pixels().width() == 32);
  }
}

TEST_CASE("a struct that can't be looked into takes part where it is said to have no parts") {
  using both = std::tuple<lazy_image, of_nine>;
  const auto s = run(sample<both, mask>{both{photo(20, 10), of_nine{}}, first_of(photo(20, 10))}, 0,
                     wick::horizontal_flip());
  CHECK(std::get<1>(s.data).i == 0);
}

TEST_CASE("a mask without a picture has a geometry, too") {
  const image picture = photo(20, 10);
  const mask m = run(mask(first_of(picture)), 0, wick::horizontal_flip());
  CHECK(m.pixels() == first_of(run(lazy_image(picture), 0, wick::horizontal_flip()).pixels()));
}

TEST_CASE("colors are for pictures, and for all of a sample the same") {
  const image picture = photo(20, 10);
  const auto jitter = wick::color_jitter(0.5, 0.5, 0.5, 0.2);
  const auto s = run(std::tuple<lazy_image, mask, lazy_image>{picture, first_of(picture), picture}, 3, jitter,
                     wick::random_grayscale(0.5));
  CHECK(std::get<0>(s).pixels() == run(lazy_image(picture), 3, jitter, wick::random_grayscale(0.5)).pixels());
  CHECK(std::get<0>(s).pixels() == std::get<2>(s).pixels());
  CHECK(!(std::get<0>(s).pixels() == picture));
  CHECK(std::get<1>(s).pixels() == first_of(picture));
}

TEST_CASE("parts of two sizes are an error with both") {
  const std::string text = message_of([] {
    return run(sample<lazy_image, mask>{photo(20, 10), first_of(photo(10, 20))}, 0, wick::horizontal_flip());
  });
  CHECK(contains(text, "20 x 10", "10 x 20"));
}

TEST_CASE("parts without a pixel are an error of any stage of geometry") {
  const auto says = [](const auto& stage) {
    return contains(
        message_of([&] {
          return run(std::tuple{lazy_image(image(0, 4, 3)), boxes{.xyxy = {{0, 0, 0, 4}}}}, 0, stage);
        }),
        "0 x 4 px", "at least 1 px a side");
  };
  CHECK(says(wick::resize(8)));
  CHECK(says(wick::random_resized_crop(8)));
  CHECK(says(wick::pad(2, {.padding_mode = wick::padding_mode::edge})));
  CHECK(says(wick::letterbox(8)));
  CHECK(says(wick::rotate(45, {.interpolation = wick::interpolation::bilinear, .expand = true})));
}

TEST_CASE("pictures and masks from files are the same batches at any number of workers, prefetch and ranks") {
  const data_set set(48);
  const auto stages = [&](std::size_t rank, std::size_t ranks) {
    return set.source() | wick::shuffle() | wick::shard(rank, ranks) | wick::read() | wick::decode() |
           wick::decode_mask() | wick::random_resized_crop(16) | wick::random_horizontal_flip() |
           wick::array_batch(8);
  };
  const auto rows = [&](std::size_t ranks, std::size_t workers, std::size_t prefetch) {
    std::vector<std::vector<std::uint8_t>> out(48);  // by position in the epoch
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      wick::loader l(stages(rank, ranks), {.seed = 5, .workers = workers, .prefetch = prefetch});
      std::size_t at = rank * (8 / ranks), in_batch = 0;
      for (auto& batch : l.epoch(2)) {
        const auto n = static_cast<std::size_t>(batch.data.extents()[0]);
        CHECK(batch.target.extents() == wick::shape{static_cast<std::int64_t>(n), 16, 16});
        for (std::size_t i = 0; i < n; ++i) {
          auto& row = out[at + in_batch * 8 + i];
          row.insert(row.end(), batch.data.template as<std::uint8_t>() + i * 768,
                     batch.data.template as<std::uint8_t>() + (i + 1) * 768);
          row.insert(row.end(), batch.target.template as<std::uint8_t>() + i * 256,
                     batch.target.template as<std::uint8_t>() + (i + 1) * 256);
        }
        ++in_batch;
      }
    }
    return out;
  };
  const auto one = rows(1, 1, 1);
  CHECK(one.front().size() == 1024);
  CHECK(one == rows(1, 4, 1));
  CHECK(one == rows(1, 4, 8));
  CHECK(one == rows(2, 2, 2));
  CHECK(one == rows(4, 1, 2));
}

TEST_CASE("a damaged or missing mask is in the failure log, with the keys of both and its stage") {
  const data_set set(12);
  const std::string seven = set.folder.path().string() + "/mask/7.png";
  std::string png = read_file(seven);
  png.resize(png.size() / 2);
  write_file(seven, png);
  const auto source = set.source();
  std::remove((set.folder.path().string() + "/mask/3.png").c_str());
  wick::loader l(source | wick::read() | wick::decode() | wick::decode_mask() | wick::resize(8, 8) |
                     wick::array_batch(12),
                 {.on_error = wick::on_error::skip});
  for (auto& batch : l.epoch(0)) CHECK(batch.data.extents()[0] == 10);
  const auto& entries = l.failure_log().entries();
  REQUIRE(entries.size() == 2);
  CHECK(entries[0].stage == "read");
  CHECK(contains(entries[0].key, "img/3.png + ", "mask/3.png"));
  CHECK(entries[1].stage == "decode_mask");
  CHECK(contains(entries[1].key, "img/7.png + ", "mask/7.png"));
}

TEST_CASE("three sources are a tuple, decoded part by part; group() gives all decoded") {
  const data_set set(6);
  std::vector<boxes> all(6, boxes{.xyxy = {{10, 8, 20, 20}}, .labels = {1}});
  wick::loader l(wick::zip(wick::files(set.pattern("img")), wick::files(set.pattern("mask")),
                           wick::in_memory(std::move(all))) |
                     wick::read() | wick::decode() | wick::decode_mask() | wick::center_crop(24) |
                     wick::sanitize_boxes() | wick::group(3),
                 {});
  std::size_t seen = 0;
  for (auto& group : l.epoch(0)) {
    for (auto& [picture, classes, objects] : group) {
      static_assert(std::is_same_v<std::remove_cvref_t<decltype(picture)>, image>);
      CHECK(classes.pixels() == first_of(picture));
      CHECK(objects.size() == 1);
      ++seen;
    }
  }
  CHECK(seen == 6);
}

TEST_CASE("a struct of parts goes through group() decoded, and without boxes through array_batch()") {
  struct pair {
    lazy_image picture;
    mask classes;
  };
  const data_set set(4);
  const auto make = [](sample<image, mask> s) { return pair{std::move(s.data), std::move(s.target)}; };
  const auto front =
      set.source() | wick::read() | wick::decode() | wick::decode_mask() | make | wick::center_crop(8);
  wick::loader objects(front | wick::group(4), {});
  for (auto& group : objects.epoch(0))
    CHECK(group[0].classes.pixels() == first_of(group[0].picture.pixels()));
  wick::loader arrays(front | wick::array_batch(4), {});
  for (auto& [pictures, classes] : arrays.epoch(0)) {
    CHECK(pictures.extents() == wick::shape{4, 3, 8, 8});
    CHECK(classes.extents() == wick::shape{4, 8, 8});
  }
}

}  // namespace wick_test::parts_tests
