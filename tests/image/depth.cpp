// Depth maps, and images that aren't photos: geometry moves all parts by one plan, colors are for photos.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "../support/picture.hpp"
#include "../support/temp_dir.hpp"
#include <wick/core.hpp>

namespace wick_test::depth_tests {

using wick::boxes;
using wick::depth;
using wick::image;
using wick::lazy_image;
using wick::mask;

static_assert(wick::ext::stage<wick::detail::decode_depth_stage>);

namespace {

using distances = std::vector<std::uint16_t>;

/// Each distance is there once, and the two bytes of neighbors differ in both.
distances some_distances(int width, int height, int seed = 0) {
  distances out;
  for (int i = 0; i < width * height; ++i) out.push_back(static_cast<std::uint16_t>(300 + 257 * i + seed));
  return out;
}
std::string png_of(int width, int height, const distances& all) {
  std::vector<std::uint8_t> rows;
  for (const std::uint16_t d : all) {
    rows.push_back(static_cast<std::uint8_t>(d >> 8));
    rows.push_back(static_cast<std::uint8_t>(d & 255));
  }
  return make_png({.width = static_cast<std::uint32_t>(width),
                   .height = static_cast<std::uint32_t>(height),
                   .bits = 16,
                   .color_type = 0,
                   .rows = rows});
}
depth decoded(const std::string& png) {
  wick::context c = context_at(0);
  return wick::decode_depth()(as_bytes(png), c);
}
lazy_image not_a_photo(const image& pixels) {
  wick::context c = context_at(0);
  return wick::decode({.color_stages = false})(as_bytes(encode_png(pixels)), c);
}
template <class Part>
std::vector<std::int32_t> written(const Part& from) {
  std::vector<std::int32_t> out(static_cast<std::size_t>(from.extents().count()));
  from.write_to({reinterpret_cast<std::byte*>(out.data()), false});
  return out;
}
std::vector<std::int32_t> written(const distances& all) { return {all.begin(), all.end()}; }

struct scene {
  lazy_image photo, normals;
  depth far;
  mask classes;
  boxes objects;
};
/// The classes of its mask are its distances, with which another decoder has to do.
scene scene_of(int width, int height) {
  const image picture = photo(width, height);
  const std::string png = png_of(width, height, some_distances(width, height));
  wick::context c = context_at(0);
  return {picture,
          not_a_photo(picture),
          decoded(png),
          wick::decode_mask({.type = wick::dtype::int32})(as_bytes(png), c),
          {.xyxy = {{2, 2, static_cast<float>(width) - 2, static_cast<float>(height) - 2}}, .labels = {1}}};
}
template <class Stage>
scene run(scene s, const Stage& stage, std::uint64_t position) {
  wick::context c = context_at(position);
  return stage(std::move(s), c);
}
/// A wick::image has no pixels of floats.
std::vector<std::byte> bytes_of(const lazy_image& from) {
  std::vector<std::byte> out(static_cast<std::size_t>(from.extents().count()) *
                             wick::detail::size_of(from.type()));
  from.write_to({out.data(), false});
  return out;
}

}  // namespace

TEST_CASE("a depth map comes out as it is stored, as [H, W] of int32") {
  const depth d = decoded(png_of(3, 2, {0, 1, 256, 65535, 4660, 7}));
  CHECK(d.extents() == wick::shape{2, 3});
  CHECK(d.type() == wick::dtype::int32);
  CHECK(written(d) == std::vector<std::int32_t>{0, 1, 256, 65535, 4660, 7});
  CHECK(d.distances() == distances{0, 1, 256, 65535, 4660, 7});
  const depth made(3, 2, {0, 1, 256, 65535, 4660, 7});
  CHECK(written(made) == written(d));
  CHECK(made.clone().distances() == d.distances());
  CHECK(message_of([] {
          return depth(3, 2, {1, 2, 3});
        }) == "depth: 3 distances for 3 x 2 px; give one a pixel");
  CHECK(contains(message_of([] { return depth(0, 2, {}); }), "0 x 2 px"));
}

TEST_CASE("every stage of geometry moves a depth map as a mask, and never blends it") {
  constexpr auto bilinear = wick::interpolation::bilinear;
  const wick::detail::corners from{{{0, 0}, {30, 0}, {30, 21}, {0, 21}}},
      to{{{3, 2}, {28, 0}, {30, 20}, {1, 17}}};
  const distances all = some_distances(40, 30);
  const auto check = [&](const auto& stage) {
    for (std::uint64_t position = 0; position < 6; ++position) {
      scene s = run(scene_of(40, 30), stage, position);
      CHECK(s.far.width() == s.photo.width());
      CHECK(s.far.height() == s.photo.height());
      const std::vector<std::int32_t> got = written(s.far);
      CHECK(got == written(s.classes));
      for (const std::int32_t d : got) CHECK((d == 0 || std::find(all.begin(), all.end(), d) != all.end()));
      CHECK(s.normals.pixels() == s.photo.pixels());
    }
  };
  check(wick::resize(17, 23));
  check(wick::resize(61, 80, {.interpolation = wick::interpolation::bicubic}));
  check(wick::center_crop(20, 36));
  check(wick::random_crop(24, {.padding = 3}));
  check(wick::random_resized_crop(16));
  check(wick::horizontal_flip());
  check(wick::vertical_flip());
  check(wick::random_horizontal_flip());
  check(wick::random_vertical_flip());
  check(wick::pad(2));
  check(wick::letterbox(32));
  check(wick::rotate(90));
  check(wick::rotate(180));
  check(wick::rotate(33, {.interpolation = bilinear, .expand = true}));
  check(wick::affine({.angle = -70, .scale = 1.7, .shear = {10, 5}, .interpolation = bilinear}));
  check(wick::perspective(from, to, {.interpolation = bilinear}));
  check(wick::random_rotation(60));
  check(wick::random_affine({-20, 20}, {.translate = {0.1, 0.2}}));
  check(wick::random_perspective(0.6, {.p = 1}));
}

TEST_CASE("a random crop around boxes moves a depth map, too") {
  for (std::uint64_t position = 0; position < 8; ++position) {
    const scene s = run(scene_of(40, 30), wick::random_iou_crop(), position);
    CHECK(written(s.far) == written(s.classes));
    CHECK(s.far.width() == s.photo.width());
  }
}

TEST_CASE("a border that repeats the image repeats its depth map") {
  const std::string png = png_of(5, 4, some_distances(5, 4));
  wick::context c = context_at(0);
  std::tuple<depth, mask> parts{decoded(png),
                                wick::decode_mask({.type = wick::dtype::int32})(as_bytes(png), c)};
  parts = wick::pad(2, {.padding_mode = wick::padding_mode::reflect})(std::move(parts), c);
  CHECK(written(std::get<0>(parts)) == written(std::get<1>(parts)));
  CHECK(written(std::get<0>(parts))[0] == some_distances(5, 4)[12]);
}

TEST_CASE("a border that a stage of geometry makes is 0 in a depth map, and the fill in a mask") {
  std::tuple<depth, mask> parts{depth(1, 1, {7}), mask(image(1, 1, 1))};
  wick::context c = context_at(0);
  parts = wick::pad(1, {.mask_fill = 255})(std::move(parts), c);
  CHECK(written(std::get<0>(parts)) == std::vector<std::int32_t>{0, 0, 0, 0, 7, 0, 0, 0, 0});
  CHECK(std::get<1>(parts).pixels().row(0)[0] == 255);
}

TEST_CASE("color stages change photos alone: no depth map, and no image of .color_stages = false") {
  const scene before = scene_of(24, 16);
  const auto check = [&](const auto& stage) {
    bool changed = false;
    for (std::uint64_t position = 0; position < 6; ++position) {
      const scene s = run(scene_of(24, 16), stage, position);
      CHECK(bytes_of(s.normals) == bytes_of(before.normals));
      CHECK(s.normals.type() == wick::dtype::uint8);
      CHECK(written(s.far) == written(before.far));
      changed = changed || bytes_of(s.photo) != bytes_of(before.photo);
      // The photo is what it is without the others.
      wick::context c = context_at(position);
      CHECK(bytes_of(s.photo) == bytes_of(stage(lazy_image(photo(24, 16)), c)));
      wick::context alone = context_at(position);
      CHECK(bytes_of(stage(not_a_photo(photo(24, 16)), alone)) == bytes_of(before.normals));
    }
    CHECK(changed);
  };
  check(wick::color_jitter(0.5, 0.5, 0.5, 0.2));
  check(wick::grayscale(3));
  check(wick::grayscale());
  check(wick::random_grayscale(0.9));
  check(wick::gaussian_blur(5, 1.2));
  check(wick::random_gaussian_blur(5));
  check(wick::invert());
  check(wick::random_invert());
  check(wick::posterize(2));
  check(wick::random_posterize(2));
  check(wick::solarize(100));
  check(wick::random_solarize(100));
  check(wick::autocontrast());
  check(wick::equalize());
  check(wick::random_equalize());
  check(wick::adjust_brightness(1.4));
  check(wick::adjust_contrast(1.4));
  check(wick::adjust_saturation(1.4));
  check(wick::adjust_hue(0.2));
  check(wick::adjust_sharpness(2));
  check(wick::random_photometric_distort());
  check(wick::random_channel_permutation());
  check(wick::random_erasing({.p = 1}));
  check(wick::normalize(0.5, 0.25));
  check(wick::to_float());
}

TEST_CASE("augmentations by policy: colors for photos, geometry for all") {
  const auto check = [&](const auto& stage) {
    bool moved = false, colored = false;
    for (std::uint64_t position = 0; position < 60; ++position) {
      const scene s = run(scene_of(24, 16), stage, position);
      CHECK(written(s.far) == written(s.classes));
      const bool differs = !(s.normals.pixels() == s.photo.pixels());
      colored = colored || differs;
      moved = moved || written(s.far) != written(scene_of(24, 16).far);
      if (written(s.far) == written(some_distances(24, 16)) && differs)
        CHECK(s.normals.pixels() == photo(24, 16));
    }
    CHECK(moved);
    CHECK(colored);
  };
  check(wick::rand_augment());
  check(wick::trivial_augment_wide());
  check(wick::auto_augment());
}

TEST_CASE("a map of normals and a depth map keep their roles in both caches, and in batches of any workers") {
  temp_dir at;
  for (int i = 0; i < 24; ++i) {
    const std::string name = "/" + std::to_string(i) + ".png";
    const image picture = photo(20, 14, 3, static_cast<std::uint64_t>(i) + 1);
    write_file(at.path().string() + "/color" + name, encode_png(picture));
    write_file(at.path().string() + "/normals" + name, encode_png(picture));
    write_file(at.path().string() + "/depth" + name, png_of(20, 14, some_distances(20, 14, i)));
  }
  const auto source = wick::zip(wick::files(at.path().string() + "/color/*.png"),
                                wick::files(at.path().string() + "/normals/*.png"),
                                wick::files(at.path().string() + "/depth/*.png"));
  const auto rows = [&](std::size_t workers, auto cache, std::uint64_t epoch) {
    wick::loader l(source | wick::shuffle() | wick::read() | wick::decode() |
                       wick::decode({.color_stages = false}) | wick::decode_depth() | cache |
                       wick::random_rotation(30, {.interpolation = wick::interpolation::bilinear}) |
                       wick::random_resized_crop(12) | wick::random_horizontal_flip() |
                       wick::color_jitter(0.4, 0.4, 0.4, 0.1) | wick::array_batch(8),
                   {.seed = 3, .workers = workers});
    std::vector<std::string> out;
    for (std::uint64_t e = 0; e <= epoch; ++e) {
      out.clear();
      for (auto& [color, normals, far] : l.epoch(e)) {
        CHECK(far.extents() == wick::shape{8, 12, 12});
        CHECK(far.type() == wick::dtype::int32);
        const auto text = [](const auto& a) {
          return std::string(reinterpret_cast<const char*>(a.data()), a.bytes());
        };
        CHECK(text(color) != text(normals));
        out.push_back(text(color) + text(normals) + text(far));
      }
    }
    return out;
  };
  const auto none = [](std::tuple<lazy_image, lazy_image, depth> all) { return all; };
  const temp_dir kept;
  const auto wanted = rows(1, none, 2);
  CHECK(rows(3, none, 2) == wanted);
  CHECK(rows(2, wick::cache_in_memory(), 2) == wanted);
  CHECK(rows(2, wick::cache_on_disk(kept.path().string()), 2) == wanted);
  CHECK(rows(2, wick::cache_on_disk(kept.path().string()), 2) == wanted);  // another run reads what is there
}

TEST_CASE("anything but a gray PNG of 16 bits is an error with its key and a remedy") {
  const temp_dir at;
  at.write("0.png", png_of(2, 2, {1, 2, 3, 4}));
  at.write("1.png", encode_png(photo(2, 2, 1)));
  at.write("2.png", encode_png(photo(2, 2, 3)));
  at.write("3.png",
           make_png({.width = 1, .height = 1, .bits = 16, .color_type = 2, .rows = {0, 1, 0, 2, 0, 3}}));
  at.write("4.png",
           make_png({.width = 1, .height = 1, .bits = 16, .color_type = 4, .rows = {0, 1, 255, 255}}));
  wick::loader l(
      wick::files(at.path().string() + "/*.png") | wick::read() | wick::decode_depth() | wick::array_batch(5),
      {.on_error = wick::on_error::skip});
  for (auto& batch : l.epoch(0)) CHECK(batch.extents() == wick::shape{1, 2, 2});
  const auto& entries = l.failure_log().entries();
  REQUIRE(entries.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(entries[i].stage == "decode_depth");
    CHECK(contains(entries[i].key, "/" + std::to_string(i + 1) + ".png"));
    CHECK(contains(entries[i].text, "a depth map is a gray PNG of 16 bits", "decode_mask()"));
  }
  CHECK(contains(entries[0].text, "a PNG of 8 bits, and"));
  CHECK(contains(entries[1].text, "a PNG of 8 bits in color, and"));
  CHECK(contains(entries[2].text, "a PNG of 16 bits in color, and"));
  CHECK(contains(entries[3].text, "a PNG of 16 bits with alpha, and"));
  // As an image it can't turn; the error says what does.
  wick::context c = context_at(0);
  const std::string png = png_of(2, 2, {1, 2, 3, 4});
  CHECK(contains(message_of([&] {
                   const auto wide = wick::decode({.mode = wick::color::gray, .type = wick::dtype::int32});
                   return wick::rotate(30)(wide(as_bytes(png), c), c);
                 }),
                 "wick::decode_depth() for distances"));
}

}  // namespace wick_test::depth_tests
