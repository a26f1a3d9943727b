#include <algorithm>
#include <cmath>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "stages.hpp"
#include <wick/transforms/erasing.hpp>
#include <wick/transforms/normalize.hpp>
#include <wick/transforms/to_float.hpp>

namespace wick_test::erasing_tests {

using wick::image;

namespace {

struct found {
  int left = 1000, top = 1000, right = -1, bottom = -1, count = 0;
  int width() const { return right - left + 1; }
  int height() const { return bottom - top + 1; }
};

/// The box of a gray picture in which the level is this one.
found box_of(const image& p, int level) {
  found f;
  for (int y = 0; y < p.height(); ++y) {
    for (int x = 0; x < p.width(); ++x) {
      if (p.row(y)[x] != level) continue;
      f.left = std::min(f.left, x);
      f.top = std::min(f.top, y);
      f.right = std::max(f.right, x);
      f.bottom = std::max(f.bottom, y);
      ++f.count;
    }
  }
  return f;
}

}  // namespace

TEST_CASE("random_erasing overwrites one box whose area, proportions and place are as asked") {
  const image p = flat(100, 80, 1, 9);
  const auto stage = wick::random_erasing({.p = 0.5, .scale = {0.1, 0.3}, .ratio = {0.5, 2}, .value = 200});
  int erased = 0, at_left = 0, at_bottom = 0;
  double least = 1, most = 0;
  for (std::uint64_t position = 0; position < 2000; ++position) {
    const found f = box_of(pixels(stage, p, position), 200);
    if (f.count == 0) continue;
    ++erased;
    REQUIRE(f.count == f.width() * f.height());
    const double share = f.count / 8000.0, ratio = static_cast<double>(f.height()) / f.width();
    CHECK(share > 0.09);
    CHECK(share < 0.31);
    CHECK(ratio > 0.47);
    CHECK(ratio < 2.12);
    least = std::min(least, share);
    most = std::max(most, share);
    at_left += f.left == 0;
    at_bottom += f.bottom == 79;
  }
  CHECK(std::abs(erased - 1000) < 120);
  CHECK(least < 0.11);
  CHECK(most > 0.29);
  CHECK(at_left > 0);
  CHECK(at_bottom > 0);
}

TEST_CASE("what comes next on the same random stream draws numbers that the box was not drawn from") {
  const image p = flat(100, 80, 1, 9);
  const auto stage = wick::random_erasing({.p = 1});
  for (std::uint64_t position = 0; position < 100; ++position) {
    wick::context ctx = context_at(position);
    wick::random_stream before = ctx.random();
    static_cast<void>(stage(wick::lazy_image(p), ctx));
    const std::uint64_t after = ctx.random()();
    for (int i = 0; i < 60; ++i) REQUIRE(before() != after);
  }
}

TEST_CASE("a box that no try makes smaller than the picture is left out") {
  const image p = photo(1, 1);
  for (std::uint64_t position = 0; position < 50; ++position) {
    CHECK(pixels(wick::random_erasing({.p = 1}), p, position) == p);
    CHECK(pixels(wick::random_erasing({.p = 1, .scale = {1, 1}}), photo(20, 20), position) == photo(20, 20));
  }
}

TEST_CASE("a value for each channel, in either layout, and cut and mirrored with the picture") {
  const image p = photo(40, 30);
  const auto stage = wick::random_erasing({.p = 1, .value = {1, 2, 3}});
  CHECK(same_in_each_layout(stage, 3, 40, 30));
  for (std::uint64_t position = 0; position < 50; ++position) {
    const image erased = pixels(stage, p, position);
    wick::lazy_image one = after(stage, p, position), two = erased;
    for (wick::lazy_image* q : {&one, &two}) {
      q->mirror_x();
      q->crop({5, 3, 20, 21});
      q->mirror_y();
      q->crop({1, 2, 12, 13});
    }
    CHECK(one.pixels() == two.pixels());
  }
}

TEST_CASE("after normalize and to_float the value is such a number, and noise is normal") {
  const image p = flat(60, 50, 3, 255);
  for (const bool planar : {false, true}) {
    const auto got = numbers(
        after(wick::random_erasing({.p = 1, .value = {-3, 0.25, 7}}), after(wick::normalize(0.5, 0.5), p), 4),
        planar);
    const auto count = [&](float v) { return std::count(got.begin(), got.end(), v); };
    CHECK(count(-3) > 0);
    CHECK(count(-3) == count(7));
    CHECK(count(0.25f) == count(7));
    CHECK(count(1) + 3 * count(7) == 9000);
  }
  std::vector<float> noise;
  for (std::uint64_t position = 0; position < 20; ++position) {
    for (const float v : numbers(
             after(wick::random_erasing({.p = 1, .noise = true}), after(wick::to_float(), p), position))) {
      if (v != 1.0f) noise.push_back(v);
    }
  }
  double sum = 0, squares = 0;
  for (const float v : noise) {
    sum += v;
    squares += v * v;
  }
  const double n = static_cast<double>(noise.size());
  CHECK(n > 5000);
  CHECK(std::fabs(sum / n) < 5 / std::sqrt(n));
  CHECK(std::fabs(squares / n - 1) < 10 / std::sqrt(n));
}

TEST_CASE("what is erased after to_float is cut and mirrored with the picture, noise and all") {
  const auto stage = wick::random_erasing({.p = 1, .noise = true});
  const image p = photo(30, 20);
  const auto got = numbers(after(stage, after(wick::to_float(), p), 3));
  wick::lazy_image moved = after(stage, after(wick::to_float(), p), 3);
  moved.mirror_x();
  moved.crop({2, 4, 20, 11});
  moved.mirror_y();
  const auto other = numbers(moved);
  REQUIRE(other.size() == 20 * 11 * 3);
  for (int y = 0; y < 11; ++y) {
    for (int x = 0; x < 20; ++x) {
      for (int c = 0; c < 3; ++c) {
        const int from_x = 30 - 1 - (x + 2), from_y = 4 + (11 - 1 - y);
        CHECK(other[static_cast<std::size_t>((y * 20 + x) * 3 + c)] ==
              got[static_cast<std::size_t>((from_y * 30 + from_x) * 3 + c)]);
      }
    }
  }
}

TEST_CASE("what means nothing is refused by name") {
  CHECK(contains(message_of([] { return wick::random_erasing({.p = 2}); }), "random_erasing: probability"));
  CHECK(contains(message_of([] { return wick::random_erasing({.scale = {0.5, 0.1}}); }), "scale 0.5"));
  CHECK(contains(message_of([] { return wick::random_erasing({.ratio = {0, 1}}); }), "ratio 0.0", "above 0"));
  CHECK(contains(message_of([] { return wick::random_erasing({.value = NAN}); }), "value nan"));
  const image p = photo(30, 30);
  CHECK(contains(message_of([&] {
                   return pixels(wick::random_erasing({.p = 1, .value = {1, 2}}), p);
                 }),
                 "2 values", "3 channels"));
  CHECK(contains(message_of([&] { return pixels(wick::random_erasing({.p = 1, .value = -1}), p); }), "-1.0",
                 "0 to 255"));
  CHECK(contains(message_of([&] { return pixels(wick::random_erasing({.p = 1, .noise = true}), p); }),
                 "noise", "to_float"));
  CHECK(contains(message_of([&] {
                   wick::lazy_image q = after(wick::random_erasing({.p = 1}), after(wick::to_float(), p));
                   q.resize(10, 10);
                   return 0;
                 }),
                 "resize after random_erasing"));
  CHECK(contains(
      message_of([&] { return after(wick::random_erasing({.p = 1}), after(wick::to_float(), p)).pixels(); }),
      "random_erasing the last"));
}

}  // namespace wick_test::erasing_tests
