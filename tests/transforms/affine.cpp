#include <cmath>
#include <set>
#include <string>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "../transforms/stages.hpp"
#include <wick/image/decode.hpp>
#include <wick/transforms/affine.hpp>
#include <wick/transforms/normalize.hpp>

namespace wick_test::affine_tests {

using wick::image;
using wick::interpolation;

TEST_CASE("affine gives torchvision's pixels") {
  const image p = by_formula(5, 4);
  CHECK(levels(pixels(
            wick::affine({.angle = 30, .translate = {1, 0}, .scale = 1.1, .shear = {5, 0}, .fill = 9}), p)) ==
        row{9, 91, 91, 37, 148, 9, 182, 245, 9, 9, 17, 93, 126, 126, 207, 9, 9, 243, 211, 110});
  CHECK(near(levels(pixels(wick::affine({.angle = 30,
                                         .translate = {1, 0},
                                         .scale = 1.1,
                                         .shear = {5, 0},
                                         .interpolation = interpolation::bilinear,
                                         .fill = 9}),
                           p)),
             {9, 60, 92, 77, 109, 30, 195, 199, 56, 108, 12, 106, 179, 109, 152, 9, 28, 182, 177, 127}));
  CHECK(levels(pixels(wick::affine({.angle = 30, .fill = 9, .center = {{0, 0}}}), p)) ==
        row{0, 9, 9, 9, 9, 141, 148, 148, 9, 9, 141, 9, 77, 80, 9, 126, 81, 207, 223, 9});
}

TEST_CASE("rotate gives torchvision's pixels and sizes, quarter turns to the pixel") {
  const image p = by_formula(5, 4);
  const image large = pixels(wick::rotate(45, {.expand = true, .fill = 9}), p);
  CHECK(large.width() == 7);
  CHECK(large.height() == 8);
  CHECK(levels(large) == row{9, 9, 9,   9,   9,   9,   9, 9, 9,  9,   80, 80,  9,   9,
                             9, 9, 148, 77,  223, 110, 9, 9, 37, 148, 9,  81,  253, 253,
                             0, 0, 141, 126, 243, 211, 9, 9, 91, 182, 93, 243, 9,   9,
                             9, 9, 17,  17,  9,   9,   9, 9, 9,  9,   9,  9,   9,   9});
  CHECK(near(levels(pixels(wick::rotate(20, {.interpolation = interpolation::bilinear, .fill = 9}), p)),
             {9, 59, 111, 137, 74, 44, 96, 45, 162, 129, 106, 200, 143, 131, 193, 57, 127, 168, 131, 43}));
  const image turned = pixels(wick::rotate(90, {.expand = true}), p);
  CHECK(turned.width() == 4);
  CHECK(levels(turned) ==
        row{80, 223, 110, 253, 77, 207, 81, 211, 148, 9, 126, 243, 37, 141, 245, 93, 0, 91, 182, 17});
  CHECK(levels(pixels(wick::rotate(90, {.fill = 9}), p)) ==
        row{80, 80, 110, 110, 9, 148, 148, 126, 126, 9, 148, 148, 126, 126, 9, 0, 0, 182, 182, 9});
  const image q = photo(33, 20);
  image four = q;
  for (int i = 0; i < 4; ++i) four = pixels(wick::rotate(-90, {.expand = true}), four);
  CHECK(four == q);
  CHECK(pixels(wick::rotate(360), q) == q);
  CHECK(pixels(wick::rotate(90, {.expand = true}), pixels(wick::rotate(90, {.expand = true}), q)) ==
        pixels(wick::rotate(180), q));
}

TEST_CASE("perspective gives torchvision's pixels") {
  const image p = by_formula(5, 4);
  const wick::detail::corners from{{{0, 0}, {4, 0}, {4, 3}, {0, 3}}}, to{{{1, 0}, {4, 1}, {3, 3}, {0, 2}}};
  CHECK(near(levels(pixels(wick::perspective(from, to, {.fill = 9}), p)),
             {9, 12, 28, 9, 9, 94, 160, 49, 125, 32, 56, 177, 106, 145, 9, 9, 18, 94, 104, 9}));
  CHECK(pixels(wick::perspective(from, from), photo(20, 10)) == photo(20, 10));
}

TEST_CASE("nothing of a move changes nothing, and all channels are moved alike") {
  for (const int channels : {1, 2, 3, 4}) {
    const image p = photo(71, 9, channels);
    CHECK(pixels(wick::affine({}), p) == p);
    CHECK(pixels(wick::affine({.interpolation = interpolation::bilinear}), p) == p);
    const image moved = pixels(wick::affine({.translate = {3, -2}, .fill = {1, 2, 3, 4}}), p);
    for (int y = 0; y < 9; ++y) {
      for (int x = 0; x < 71; ++x) {
        for (int c = 0; c < channels; ++c) {
          const int expected = x < 3 || y >= 7 ? c + 1 : p.row(y + 2)[(x - 3) * channels + c];
          CHECK(moved.row(y)[x * channels + c] == expected);
        }
      }
    }
  }
  CHECK(pixels(wick::rotate(33), photo(1, 1)) == photo(1, 1));
}

TEST_CASE("the random ones draw from their ranges, the same at the same position") {
  const image p = photo(40, 30);
  std::set<row> seen;
  for (std::uint64_t position = 0; position < 60; ++position) {
    const auto all = wick::random_affine(
        20, {.translate = {0.2, 0.1}, .scale = {0.5, 2}, .shear_x = 10, .shear_y = {0, 5}});
    const image q = pixels(all, p, position);
    CHECK(q == pixels(all, p, position));
    CHECK(q.width() == 40);
    seen.insert(levels(q));
    seen.insert(levels(pixels(wick::random_rotation(90), p, position)));
    seen.insert(levels(pixels(wick::random_perspective(0.5, {.p = 1}), p, position)));
  }
  CHECK(seen.size() > 175);
  CHECK(pixels(wick::random_rotation({90, 90}, {.expand = true}), p) ==
        pixels(wick::rotate(90, {.expand = true}), p));
  CHECK(pixels(wick::random_affine(0), p) == p);
  CHECK(pixels(wick::random_perspective(0, {.p = 1}), p) == p);
  int left = 0;
  for (std::uint64_t position = 0; position < 1000; ++position)
    left += pixels(wick::random_perspective(0.5, {.p = 0.25}), p, position) == p;
  CHECK(std::abs(left - 750) < 80);
  for (std::uint64_t position = 0; position < 50; ++position)
    CHECK(pixels(wick::random_perspective(1, {.p = 1}), photo(2, 1), position).width() == 2);
  // A shift by whole pixels, up to the share: all of them come, none beyond.
  std::set<int> shifts;
  image one = flat(21, 1, 1, 0);
  one.data()[10] = 255;
  for (std::uint64_t position = 0; position < 400; ++position) {
    const row r = levels(pixels(wick::random_affine(0, {.translate = {0.2, 0}}), one, position));
    for (int x = 0; x < 21; ++x) {
      if (r[static_cast<std::size_t>(x)] == 255) shifts.insert(x - 10);
    }
  }
  CHECK(shifts == std::set<int>{-4, -3, -2, -1, 0, 1, 2, 3, 4});
}

TEST_CASE("numbers of classes are moved by nearest, and never blended") {
  wick::context ctx = context_at(0);
  const image classes = by_formula(8, 8);
  const std::string png = encode_png(classes);
  const auto mask = [&] { return wick::decode({.mode = wick::color::index})(as_bytes(png), ctx); };
  CHECK(after(wick::rotate(45), mask()).pixels() == pixels(wick::rotate(45), classes));
  CHECK(contains(message_of([&] {
                   return after(wick::rotate(45, {.interpolation = interpolation::bilinear}), mask()).width();
                 }),
                 "numbers of classes", "interpolation::nearest"));
  CHECK(contains(message_of([&] {
                   return after(wick::affine({}), after(wick::normalize(0.5, 0.5), photo(4, 4))).width();
                 }),
                 "after normalize"));
}

TEST_CASE("each parameter that changes pixels changes its stage's fingerprint") {
  std::set<std::uint64_t> seen;
  const auto differ = [&](auto... each) {
    seen = {each.fingerprint()...};
    return seen.size() == sizeof...(each);
  };
  constexpr auto bilinear = interpolation::bilinear;
  CHECK(differ(wick::affine({}), wick::affine({.angle = 1}), wick::affine({.translate = {1, 0}}),
               wick::affine({.translate = {0, 1}}), wick::affine({.scale = 2}),
               wick::affine({.shear = {1, 0}}), wick::affine({.shear = {0, 1}}),
               wick::affine({.interpolation = bilinear}), wick::affine({.fill = 1}),
               wick::affine({.center = {{0, 0}}})));
  CHECK(differ(wick::rotate(1), wick::rotate(2), wick::rotate(1, {.interpolation = bilinear}),
               wick::rotate(1, {.expand = true}), wick::rotate(1, {.fill = 1}),
               wick::rotate(1, {.center = {{0, 0}}})));
  CHECK(differ(wick::random_rotation(1), wick::random_rotation({0, 1}),
               wick::random_rotation(1, {.expand = true})));
  CHECK(differ(wick::random_affine(1), wick::random_affine(2),
               wick::random_affine(1, {.translate = {0.1, 0}}), wick::random_affine(1, {.scale = {0.5, 1}}),
               wick::random_affine(1, {.shear_x = 1}), wick::random_affine(1, {.shear_y = 1}),
               wick::random_affine(1, {.interpolation = bilinear}), wick::random_affine(1, {.fill = 3}),
               wick::random_affine(1, {.center = {{0, 0}}})));
  CHECK(differ(wick::random_perspective(), wick::random_perspective(0.25),
               wick::random_perspective(0.5, {.p = 1}),
               wick::random_perspective(0.5, {.interpolation = interpolation::nearest}),
               wick::random_perspective(0.5, {.fill = 1})));
}

TEST_CASE("a center far outside the picture leaves at least a pixel, and one beyond any picture is refused") {
  for (const double x : {-1e6, -999'999.3, 0.0, 123'456.7, 1e6}) {
    for (const double y : {-1e6, 0.0, 1e6}) {
      for (const double angle : {0.0, 0.01, 45.0, 90.0, 200.0}) {
        const image p = pixels(wick::rotate(angle, {.expand = true, .center = {{x, y}}}), photo(1, 1));
        CHECK(p.width() >= 1);
        CHECK(p.height() >= 1);
        CHECK(p.width() + p.height() <= 8);
      }
    }
  }
  CHECK(contains(message_of([] {
                   return wick::rotate(1, {.expand = true, .center = {{0, 1e30}}});
                 }),
                 "rotate: the center", "pixels"));
  CHECK(contains(message_of([] {
                   return wick::random_rotation(1, {.center = {{-1e7, 0}}});
                 }),
                 "random_rotation: the center"));
  CHECK(contains(message_of([] { return wick::affine({.center = {{0, 1e300}}}); }), "affine: the center"));
}

TEST_CASE("what means nothing is refused by name") {
  CHECK(contains(message_of([] { return wick::affine({.scale = 0}); }), "affine: scale 0", "above 0"));
  CHECK(contains(message_of([] { return wick::affine({.angle = NAN}); }), "affine: angle nan"));
  CHECK(contains(message_of([] { return wick::affine({.interpolation = interpolation::bicubic}); }), "affine",
                 "nearest or bilinear"));
  CHECK(contains(message_of([] { return wick::rotate(HUGE_VAL); }), "rotate: angle inf"));
  CHECK(contains(message_of([] { return wick::rotate(1, {.center = {{NAN, 0}}}); }), "rotate: the center"));
  CHECK(contains(message_of([] { return wick::random_rotation(-1); }), "random_rotation: degrees 1.0",
                 "the least first"));
  CHECK(contains(message_of([] {
                   return wick::random_affine(1, {.translate = {2, 0}});
                 }),
                 "translate 2.0", "0 to 1"));
  CHECK(contains(message_of([] {
                   return wick::random_affine(1, {.scale = {2, 1}});
                 }),
                 "scale 2.0", "least one first"));
  CHECK(contains(message_of([] { return wick::random_affine(1, {.shear_x = {2, 1}}); }), "shear_x 2.0"));
  CHECK(contains(message_of([] { return wick::random_perspective(1.5); }), "distortion_scale 1.5"));
  CHECK(contains(message_of([] { return wick::random_perspective(0.5, {.p = 3}); }), "probability"));
  const wick::detail::corners line{{{0, 0}, {1, 1}, {2, 2}, {0, 3}}},
      square{{{0, 0}, {3, 0}, {3, 3}, {0, 3}}};
  CHECK(contains(message_of([&] { return wick::perspective(square, line); }), "three of the corners"));
  CHECK(contains(message_of([&] { return wick::perspective(line, square); }), "three of the corners"));
}

}  // namespace wick_test::affine_tests
