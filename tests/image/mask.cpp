#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "../support/picture.hpp"
#include <wick/image/mask.hpp>
#include <wick/transforms/affine.hpp>
#include <wick/transforms/crop.hpp>
#include <wick/transforms/flip.hpp>
#include <wick/transforms/pad.hpp>
#include <wick/transforms/resize.hpp>

namespace wick_test::mask_tests {

using wick::image;
using wick::mask;

namespace {

/// Numbers that say where they stand.
image places(int width, int height) {
  image out(width, height, 1);
  for (int i = 0; i < width * height; ++i) out.data()[i] = static_cast<std::uint8_t>(i);
  return out;
}
std::vector<int> numbers(const image& of) { return {of.pixels().begin(), of.pixels().end()}; }

template <class... Stage>
mask run(mask from, const Stage&... stage) {
  wick::context c = context_at(0);
  std::tuple<wick::lazy_image, mask> item{image(from.width(), from.height(), 3), std::move(from)};
  ((item = stage(std::move(item), c)), ...);
  return std::move(std::get<1>(item));
}
template <class Number>
std::vector<int> written(const mask& from) {
  std::vector<Number> out(static_cast<std::size_t>(from.extents().count()));
  from.write_to({reinterpret_cast<std::byte*>(out.data()), false});
  return {out.begin(), out.end()};
}
mask decoded(const std::string& png, wick::dtype type = wick::dtype::uint8) {
  wick::context c = context_at(0);
  return wick::decode_mask({.type = type})(as_bytes(png), c);
}

const std::string palette_png =
    make_png({.width = 3,
              .height = 2,
              .color_type = 3,
              .rows = {0, 7, 2, 2, 1, 0},
              .palette = {9, 9, 9, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5, 6, 6, 6, 200, 100, 50}});
const std::string deep_png = make_png({.width = 2,
                                       .height = 2,
                                       .bits = 16,
                                       .color_type = 0,
                                       .rows = {0x01, 0x00, 0xFF, 0xFF, 0x00, 0x07, 0x12, 0x34}});

}  // namespace

static_assert(wick::ext::stage<wick::detail::decode_mask_stage>);

TEST_CASE("a palette's numbers come out as they are stored, as [H, W]") {
  const mask m = decoded(palette_png);
  CHECK(m.extents() == wick::shape{2, 3});
  CHECK(m.type() == wick::dtype::uint8);
  CHECK(written<std::uint8_t>(m) == std::vector<int>{0, 7, 2, 2, 1, 0});
  CHECK(numbers(m.pixels()) == std::vector<int>{0, 7, 2, 2, 1, 0});
  CHECK(numbers(m.clone().pixels()) == numbers(m.pixels()));
  CHECK(written<std::int32_t>(decoded(palette_png, wick::dtype::int32)) ==
        std::vector<int>{0, 7, 2, 2, 1, 0});
}

TEST_CASE("depths of 16 bits come out as they are, through all geometry") {
  const auto deep = [] { return decoded(deep_png, wick::dtype::int32); };
  CHECK(written<std::int32_t>(deep()) == std::vector<int>{256, 65535, 7, 4660});
  CHECK(written<std::int32_t>(run(deep(), wick::resize(4, 2), wick::horizontal_flip())) ==
        std::vector<int>{65535, 256, 65535, 256, 4660, 7, 4660, 7});
  CHECK(written<std::int32_t>(run(deep(), wick::horizontal_flip())) == std::vector<int>{65535, 256, 4660, 7});
  CHECK(written<std::int32_t>(run(deep(), wick::pad({1, 0}, {.mask_fill = 300}))) ==
        std::vector<int>{300, 256, 65535, 300, 300, 7, 4660, 300});
  CHECK(contains(message_of([] { return decoded(deep_png); }), "decode_mask() would lose 8",
                 "wick::decode_mask({.type = wick::dtype::int32})"));
}

TEST_CASE("depths of 16 bits turn and tilt, and never blend") {
  const auto deep = [] { return decoded(deep_png, wick::dtype::int32); };
  CHECK(written<std::int32_t>(run(deep(), wick::rotate(90))) == std::vector<int>{65535, 4660, 256, 7});
  CHECK(written<std::int32_t>(run(deep(), wick::rotate(180))) == std::vector<int>{4660, 7, 65535, 256});
  CHECK(written<std::int32_t>(run(deep(), wick::affine({.translate = {1, 0}, .mask_fill = 300}))) ==
        std::vector<int>{300, 256, 300, 7});
  CHECK(written<std::int32_t>(run(deep(), wick::resize(4, 4), wick::center_crop(4, 2), wick::rotate(-90))) ==
        std::vector<int>{0, 0, 7, 256, 4660, 65535, 0, 0});  // of what is narrow, its middle has room
  // The same as that of the upper and the lower 8 bits, each for itself.
  image high(31, 22, 1), low(31, 22, 1);
  std::vector<std::uint8_t> rows;
  for (int i = 0; i < 31 * 22; ++i) {
    high.data()[i] = static_cast<std::uint8_t>(i * 7), low.data()[i] = static_cast<std::uint8_t>(i * i);
    rows.insert(rows.end(), {high.data()[i], low.data()[i]});
  }
  const std::string png = make_png({.width = 31, .height = 22, .bits = 16, .color_type = 0, .rows = rows});
  constexpr auto bilinear = wick::interpolation::bilinear;
  const wick::detail::corners from{{{0, 0}, {30, 0}, {30, 21}, {0, 21}}},
      to{{{3, 2}, {28, 0}, {30, 20}, {1, 17}}};
  const auto same = [&](const auto& stage) {
    const mask both = run(decoded(png, wick::dtype::int32), stage);
    const std::vector<int> upper = numbers(run(mask(high), stage).pixels()),
                           lower = numbers(run(mask(low), stage).pixels());
    std::vector<int> out(upper.size());
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = upper[i] * 256 + lower[i];
    return written<std::int32_t>(both) == out;
  };
  CHECK(same(wick::rotate(33, {.interpolation = bilinear, .expand = true})));
  CHECK(same(wick::affine({.angle = -70, .scale = 1.7, .shear = {10, 5}})));
  CHECK(same(wick::perspective(from, to)));
}

TEST_CASE("a resize takes torch's nearest, and never blends") {
  // torchvision.transforms.v2 (0.29), resize of a Mask.
  CHECK(numbers(run(places(10, 1), wick::resize(1, 4)).pixels()) == std::vector<int>{0, 2, 5, 7});
  CHECK(numbers(run(places(10, 1), wick::resize(1, 7)).pixels()) == std::vector<int>{0, 1, 2, 4, 5, 7, 8});
  CHECK(numbers(run(places(3, 1), wick::resize(1, 7)).pixels()) == std::vector<int>{0, 0, 0, 1, 1, 2, 2});
  // NEAREST_EXACT
  CHECK(numbers(run(places(10, 1), wick::resize(1, 4, {.interpolation = wick::interpolation::nearest}))
                    .pixels()) == std::vector<int>{1, 3, 6, 8});
  CHECK(numbers(run(places(10, 1), wick::horizontal_flip(), wick::resize(1, 4)).pixels()) ==
        std::vector<int>{9, 7, 4, 2});
}

TEST_CASE("crops, flips and borders go along with the picture") {
  CHECK(numbers(run(places(4, 3), wick::center_crop(1, 2), wick::horizontal_flip()).pixels()) ==
        std::vector<int>{6, 5});
  CHECK(numbers(run(places(2, 2), wick::vertical_flip()).pixels()) == std::vector<int>{2, 3, 0, 1});
  CHECK(numbers(run(places(1, 1), wick::pad(1, {.fill = 128, .mask_fill = 255})).pixels()) ==
        std::vector<int>{255, 255, 255, 255, 0, 255, 255, 255, 255});
  CHECK(numbers(run(places(2, 1), wick::pad({1, 0}, {.padding_mode = wick::padding_mode::edge})).pixels()) ==
        std::vector<int>{0, 0, 1, 1});
}

TEST_CASE("a fill that the mask's numbers have no room for is refused, and not cut to another class") {
  const auto padded = [](int fill, auto... more) {
    return message_of([&] { return run(places(2, 2), wick::pad(1, {.mask_fill = fill}), more...).pixels(); });
  };
  CHECK(padded(255).empty());
  CHECK(contains(padded(-100), "mask_fill -100", "0 to 255", "ignore_index"));
  CHECK(contains(padded(256), "mask_fill 256"));
  CHECK(contains(message_of([] { return run(places(2, 2), wick::rotate(30, {.mask_fill = -1})).pixels(); }),
                 "mask_fill -1"));
  // A border that repeats the mask has no use for it.
  CHECK(message_of([] {
          return run(places(2, 2),
                     wick::pad(1, {.padding_mode = wick::padding_mode::edge, .mask_fill = -100}))
              .pixels();
        }).empty());
  const auto of_16_bits = [&](int fill) {
    return message_of([&] {
      return written<std::int32_t>(
          run(decoded(deep_png, wick::dtype::int32), wick::pad(1, {.mask_fill = fill})));
    });
  };
  CHECK(of_16_bits(65'535).empty());
  CHECK(contains(of_16_bits(65'536), "16 bits, 0 to 65535"));
}

TEST_CASE("what holds no numbers of classes is refused, and damage is decode_mask()'s") {
  CHECK(
      contains(message_of([] { return decoded(encode_png(photo(4, 4))); }), "PNG of colors", "color::index"));
  CHECK(contains(message_of([] { return decoded(encode_jpeg(photo(8, 8))); }), "JPEG"));
  CHECK(contains(message_of([] { return mask(photo(4, 4)); }), "3 channels", "one channel"));
  CHECK(
      contains(message_of([] { return wick::decode_mask({.type = wick::dtype::float32}); }), "decode_mask"));
  CHECK(contains(message_of([] { return wick::decode_mask({.type = wick::dtype::int64}); }), "decode_mask",
                 "uint8 or int32"));
  const std::string broken =
      make_png({.width = 3, .height = 2, .color_type = 0, .compressed = std::string(40, 'x')});
  try {
    static_cast<void>(decoded(broken).pixels());
    FAIL("nothing was thrown");
  } catch (const wick::detail::late_error& e) {
    CHECK(e.stage() == "decode_mask");
  }
}

TEST_CASE("numbers that are there are decoded no more") {
  mask m = decoded(palette_png);
  mask made = std::move(m).materialize();
  CHECK(numbers(made.pixels()) == std::vector<int>{0, 7, 2, 2, 1, 0});
  CHECK(written<std::uint8_t>(made) == std::vector<int>{0, 7, 2, 2, 1, 0});
}

}  // namespace wick_test::mask_tests
