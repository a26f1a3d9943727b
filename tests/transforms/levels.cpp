#include <cmath>
#include <string>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "stages.hpp"
#include <wick/transforms/levels.hpp>

namespace wick_test::levels_tests {

using wick::image;

namespace {

template <class Stage>
int how_often(const Stage& stage, const image& picture) {
  int changed = 0;
  for (std::uint64_t position = 0; position < 2000; ++position)
    changed += !(pixels(stage, picture, position) == picture);
  return changed;
}

}  // namespace

TEST_CASE("invert, solarize, posterize and autocontrast give torchvision's levels") {
  const image p = by_formula(5, 4);
  const row inverted = levels(pixels(wick::invert(), p));
  for (std::size_t i = 0; i < inverted.size(); ++i) CHECK(inverted[i] == 255 - levels(p)[i]);
  CHECK(levels(pixels(wick::solarize(100), p)) ==
        row{0, 37, 107, 77, 80, 91, 114, 9, 48, 32, 73, 10, 129, 81, 145, 17, 93, 12, 44, 2});
  CHECK(levels(pixels(wick::posterize(3), p)) ==
        row{0, 32, 128, 64, 64, 64, 128, 0, 192, 192, 160, 224, 96, 64, 96, 0, 64, 224, 192, 224});
  image low = p;
  for (std::uint8_t& v : low.pixels()) v = static_cast<std::uint8_t>(v / 2 + 40);
  CHECK(levels(pixels(wick::autocontrast(), low)) ==
        row{0, 36, 149, 76, 80, 91, 141, 8, 208, 224, 184, 246, 127, 80, 111, 16, 93, 244, 212, 254});
}

TEST_CASE("equalize gives torchvision's levels, and leaves a picture of few pixels alone") {
  image p = by_formula(40, 40);
  for (std::uint8_t& v : p.pixels()) v = static_cast<std::uint8_t>(v / 4 + 30);
  row first = levels(pixels(wick::equalize(), p));
  first.resize(40);
  CHECK(first == row{0,  34,  153, 73,  78,  161, 51,  19,  62,  184, 115, 124, 214, 107,
                     81, 133, 0,   201, 217, 42,  214, 194, 252, 115, 62,  81,  184, 91,
                     78, 144, 19,  237, 0,   99,  19,  11,  78,  228, 184, 217});
  CHECK(pixels(wick::equalize(), by_formula(15, 15)) == by_formula(15, 15));
  CHECK(pixels(wick::equalize(), flat(300, 10, 3, 77)) == flat(300, 10, 3, 77));
}

TEST_CASE("the ends of the ranges: all bits or none, all levels or one, a flat picture") {
  const image p = photo(37, 11);
  CHECK(pixels(wick::posterize(8), p) == p);
  CHECK(pixels(wick::posterize(0), p) == flat(37, 11, 3, 0));
  CHECK(pixels(wick::solarize(0), p) == pixels(wick::invert(), p));
  CHECK(pixels(wick::solarize(255), flat(9, 9, 1, 255)) == flat(9, 9, 1, 0));
  CHECK(pixels(wick::solarize(255), flat(9, 9, 1, 254)) == flat(9, 9, 1, 254));
  CHECK(pixels(wick::solarize(99.5), flat(9, 9, 1, 99)) == flat(9, 9, 1, 99));
  CHECK(pixels(wick::solarize(99.5), flat(9, 9, 1, 100)) == flat(9, 9, 1, 155));
  CHECK(pixels(wick::autocontrast(), flat(9, 9, 3, 12)) == flat(9, 9, 3, 12));
}

TEST_CASE("each color is stretched by itself") {
  image p(2, 1, 3);
  const std::uint8_t in[] = {10, 100, 7, 20, 200, 7};
  std::copy(in, in + 6, p.data());
  CHECK(levels(pixels(wick::autocontrast(), p)) == row{0, 0, 7, 254, 254, 7});
}

TEST_CASE("interleaved pixels and planes give the same levels, and alpha stays as it is") {
  for (const int channels : {1, 2, 3, 4}) {
    for (const int width : {1, 5, 67}) {
      CHECK(same_in_each_layout(wick::invert(), channels, width, 19));
      CHECK(same_in_each_layout(wick::posterize(2), channels, width, 19));
      CHECK(same_in_each_layout(wick::solarize(90), channels, width, 19));
      CHECK(same_in_each_layout(wick::autocontrast(), channels, width, 19));
      CHECK(same_in_each_layout(wick::equalize(), channels, width, 19));
    }
  }
}

TEST_CASE("the random ones happen as often as asked, to some pictures and not to others") {
  const image p = photo(24, 24);
  CHECK(std::abs(how_often(wick::random_invert(), p) - 1000) < 120);
  CHECK(std::abs(how_often(wick::random_posterize(2, 0.25), p) - 500) < 120);
  CHECK(std::abs(how_often(wick::random_solarize(128), p) - 1000) < 120);
  CHECK(how_often(wick::random_autocontrast(0), p) == 0);
  CHECK(how_often(wick::random_equalize(1), p) == 2000);
  CHECK(pixels(wick::random_invert(1), p) == pixels(wick::invert(), p));
  CHECK(pixels(wick::random_solarize(9, 1), p) == pixels(wick::solarize(9), p));
  CHECK(pixels(wick::random_posterize(3, 1), p) == pixels(wick::posterize(3), p));
  CHECK(pixels(wick::random_autocontrast(1), p) == pixels(wick::autocontrast(), p));
}

TEST_CASE("arguments that mean nothing are refused by name") {
  CHECK(contains(message_of([] { return wick::posterize(9); }), "posterize: 9 bits", "0 to 8"));
  CHECK(contains(message_of([] { return wick::random_posterize(-1); }), "random_posterize: -1 bits"));
  CHECK(contains(message_of([] { return wick::solarize(256); }), "solarize: threshold 256", "0 to 255"));
  CHECK(contains(message_of([] { return wick::random_solarize(NAN); }), "random_solarize: threshold nan"));
  CHECK(
      contains(message_of([] { return wick::random_solarize(1, 1.5); }), "random_solarize: probability 1.5"));
  CHECK(contains(message_of([] { return wick::random_invert(-1); }), "random_invert: probability"));
}

}  // namespace wick_test::levels_tests
