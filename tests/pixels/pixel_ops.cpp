#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "../support/picture.hpp"
#include <wick/ext/fingerprint.hpp>
#include <wick/pixels/detail/pixel_ops.hpp>

namespace wick_test::pixel_ops_tests {

using wick::image;
using kind = wick::detail::pixel_op::kind;

namespace {

image done(kind what, float value, image p) {
  wick::detail::apply({what, value}, wick::detail::picture_target::interleaved(p.data(), p.width(),
                                                                               p.height(), p.channels()));
  return p;
}
int cut(double v) { return static_cast<int>(std::clamp(v, 0.0, 255.0)); }
/// torchvision's rgb_to_grayscale: products and sums of floats, each rounded.
std::uint8_t luma(const std::uint8_t* rgb) {
  const auto product = [](float share, double level) { return static_cast<float>(share * level); };
  return static_cast<std::uint8_t>(product(0.2989f, rgb[0]) + product(0.587f, rgb[1]) +
                                   product(0.114f, rgb[2]));
}
/// The difference that the last bit of a float can make where a level is cut off.
bool nearly(int a, int b) { return std::abs(a - b) <= 1; }

}  // namespace

TEST_CASE("brightness, contrast and saturation follow torchvision's formulas") {
  const image p = photo(40, 30);
  std::vector<double> gray;
  double mean = 0;
  for (std::size_t i = 0; i < 1200; ++i) {
    const std::uint8_t* v = p.data() + i * 3;
    gray.push_back(std::floor(0.2989 * v[0] + 0.587 * v[1] + 0.114 * v[2]));
    mean += gray.back() / 1200;
  }
  for (const double f : {0.0, 0.4, 1.3, 2.0}) {
    const auto value = static_cast<float>(f);
    const image bright = done(kind::brightness, value, p), contrast = done(kind::contrast, value, p),
                saturated = done(kind::saturation, value, p);
    for (std::size_t i = 0; i < 3600; ++i) {
      const double v = p.data()[i];
      CHECK(nearly(bright.data()[i], cut(f * v)));
      CHECK(nearly(contrast.data()[i], cut(f * v + (1 - f) * mean)));
      CHECK(nearly(saturated.data()[i], cut(f * v + (1 - f) * gray[i / 3])));
    }
  }
}

TEST_CASE("a factor of one and a hue of nothing change nothing") {
  const image p = photo(40, 30);
  for (const kind k : {kind::brightness, kind::contrast, kind::saturation}) CHECK(done(k, 1.0f, p) == p);
  const difference d = compare(done(kind::hue, 0.0f, p), p);
  CHECK(d.greatest <= 1);
}

TEST_CASE("a third of the color circle turns red into green and green into blue") {
  image p(3, 1, 3);
  const std::uint8_t colors[] = {200, 20, 20, 20, 200, 20, 90, 90, 90};
  std::memcpy(p.data(), colors, 9);
  const image turned = done(kind::hue, 1.0f / 3, p);
  const std::uint8_t expected[] = {20, 200, 20, 20, 20, 200, 90, 90, 90};
  for (int i = 0; i < 9; ++i) CHECK(std::abs(turned.data()[i] - expected[i]) <= 1);
  const difference there_and_back =
      compare(done(kind::hue, -0.2f, done(kind::hue, 0.2f, photo(30, 20))), photo(30, 20));
  CHECK(there_and_back.greatest <= 3);
  CHECK(compare(done(kind::hue, 0.5f, photo(30, 20)), done(kind::hue, -0.5f, photo(30, 20))).greatest <= 1);
}

TEST_CASE("levels are rounded alike whatever instructions the compiler may take") {
  const image p = photo(253, 187);
  wick::ext::fingerprint_hash all;
  for (const kind k :
       {kind::brightness, kind::contrast, kind::saturation, kind::hue, kind::gray, kind::sharpness}) {
    for (const float value : {0.2f, 0.45f, 1.9f}) {
      const image q = done(k, value, p);
      all.add(q.data(), q.pixels().size());
    }
  }
  CHECK(all.value() == 6925879690953697377u);
}

TEST_CASE("gray pictures keep saturation and hue, alpha stays as it is, planes give what pixels give") {
  CHECK(done(kind::saturation, 0.2f, photo(9, 9, 1)) == photo(9, 9, 1));
  CHECK(done(kind::hue, 0.2f, photo(9, 9, 2)) == photo(9, 9, 2));
  for (const kind k : {kind::brightness, kind::contrast, kind::saturation, kind::hue, kind::gray}) {
    const image p = photo(31, 17, 4), q = done(k, 0.4f, p);
    image planes(31, 17, 4);
    const auto planar = wick::detail::picture_target::planar(planes.data(), 31, 17, 4);
    wick::detail::copy_pixels(p.view(), planar);
    wick::detail::apply({k, 0.4f}, planar);
    for (int i = 0; i < 31 * 17; ++i) {
      CHECK(q.data()[i * 4 + 3] == p.data()[i * 4 + 3]);
      for (int c = 0; c < 4; ++c) CHECK(planes.data()[c * 31 * 17 + i] == q.data()[i * 4 + c]);
    }
  }
}

TEST_CASE("saturation and the gray picture are blend() and luma of each pixel") {
  const image p = photo(61, 43);
  const image gray = done(kind::gray, 1, p), saturated = done(kind::saturation, 1.7f, p);
  for (std::size_t i = 0; i < p.pixels().size(); i += 3) {
    const std::uint8_t* v = p.data() + i;
    const std::uint8_t light = luma(v);
    for (std::size_t c = 0; c < 3; ++c) {
      CHECK(gray.data()[i + c] == light);
      CHECK(saturated.data()[i + c] == wick::detail::blend(1.7f, v[c], light));
    }
  }
}

TEST_CASE("operations on levels that are gathered give what they give one by one") {
  using wick::detail::level_map, wick::detail::pixel_op;
  const std::vector<std::vector<pixel_op>> chains = {
      {{kind::brightness, 1.4}, {kind::contrast, 0.3}},
      {{kind::contrast, 1.8}, {kind::solarize, 99.5}, {kind::brightness, 0.7}, {kind::posterize, 3}},
      {{kind::invert}, {kind::saturation, 0.2}, {kind::contrast, 0.5}, {kind::hue, 0.1}, {kind::invert}},
      {{kind::posterize, 0}, {kind::invert}},
      {{kind::solarize, 256}, {kind::autocontrast}}};
  const wick::detail::normalization by{{0.4f, 0.5f, 0.6f, 0.7f}, {0.3f, 0.2f, 0.1f, 0.5f}, 4};
  for (const auto& chain : chains) {
    for (const int channels : {1, 2, 3, 4}) {
      image each = photo(37, 23, channels), together = each, left = each;
      const auto target = [](image& p) {
        return wick::detail::picture_target::interleaved(p.data(), p.width(), p.height(), p.channels());
      };
      for (const pixel_op& op : chain) wick::detail::apply(op, target(each));
      wick::detail::apply(chain, target(together));
      CHECK(each == together);
      level_map rest;
      wick::detail::apply(chain, target(left), &rest);
      wick::detail::normalization same = by;
      same.count = channels;
      const std::size_t size = each.pixels().size();
      for (const bool planar : {false, true}) {
        std::vector<float> wanted(size), got(size);
        wick::detail::write_normalized(each, {}, same, reinterpret_cast<std::byte*>(wanted.data()), planar);
        wick::detail::write_normalized(left, rest, same, reinterpret_cast<std::byte*>(got.data()), planar);
        CHECK(wanted == got);
      }
    }
  }
}

TEST_CASE("normalization is float arithmetic, per channel, in either layout") {
  const image p = photo(7, 5);
  const wick::detail::normalization by{{0.485f, 0.456f, 0.406f, 0}, {0.229f, 0.224f, 0.225f, 0}, 3};
  std::vector<float> interleaved(105), planar(105);
  wick::detail::write_normalized(p, {}, by, reinterpret_cast<std::byte*>(interleaved.data()), false);
  wick::detail::write_normalized(p, {}, by, reinterpret_cast<std::byte*>(planar.data()), true);
  for (std::size_t i = 0; i < 35; ++i) {
    for (std::size_t c = 0; c < 3; ++c) {
      const float expected =
          (static_cast<float>(p.data()[i * 3 + c]) / 255.0f - by.mean[c]) / by.deviation[c];
      CHECK(interleaved[i * 3 + c] == expected);
      CHECK(planar[c * 35 + i] == expected);
    }
  }
  std::vector<float> one(105);
  wick::detail::write_normalized(p, {}, {{0.5f}, {0.5f}, 1}, reinterpret_cast<std::byte*>(one.data()), false);
  CHECK(*std::min_element(one.begin(), one.end()) >= -1);
  CHECK(*std::max_element(one.begin(), one.end()) <= 1);
  const std::string text = message_of([&] {
    return wick::detail::write_normalized(photo(7, 5, 1), {}, by, reinterpret_cast<std::byte*>(one.data()),
                                          false),
           0;
  });
  CHECK(contains(text, "3 means", "1 channels"));
}

}  // namespace wick_test::pixel_ops_tests
