#include <cmath>

#include "../support/doctest.hpp"
#include "../support/picture.hpp"
#include <wick/ext/fingerprint.hpp>
#include <wick/pixels/detail/warp.hpp>

namespace wick_test::warp_tests {

using namespace wick::detail;

namespace {

bool near(const point& a, const point& b) { return std::hypot(a.x - b.x, a.y - b.y) < 1e-9; }

}  // namespace

TEST_CASE("a projection and its inverse lead back, and a product is one after the other") {
  const projection a{{1.1, 0.2, 3, -0.1, 0.9, -4, 0.001, 0.002, 1}},
      b{{0.5, -0.3, 1, 0.2, 2, 0, 0, -0.001, 1}};
  for (const point p : {point{0, 0}, point{10, 3}, point{-7, 200}}) {
    CHECK(near(a.inverse()(a(p)), p));
    CHECK(near((a * b)(p), a(b(p))));
  }
}

TEST_CASE("corners of a perspective come from where they were") {
  const std::array<point, 4> from{{{0, 0}, {99, 0}, {99, 49}, {0, 49}}},
      to{{{5, 3}, {90, 8}, {97, 40}, {1, 44}}};
  warp by{.centered = false, .width = 100, .height = 50};
  REQUIRE(inverse_perspective(from, to, by.to_source));
  for (std::size_t i = 0; i < 4; ++i) CHECK(near(by.to_source_of(100, 50)(to[i]), from[i]));
  CHECK_FALSE(inverse_perspective(from, {{{0, 0}, {1, 1}, {2, 2}, {0, 9}}}, by.to_source));
}

TEST_CASE("the matrix of an affine warp says where its pixels come from") {
  const wick::image p = photo(60, 40, 1);
  warp by{inverse_affine({3, -4}, 25, {5, 2}, 1.3, {8, -3}), true, wick::interpolation::nearest, {}, 60, 40};
  const wick::image q = warped(p.view(), by);
  const projection source = by.to_source_of(60, 40);
  int inside = 0;
  for (int y = 0; y < 40; ++y) {
    for (int x = 0; x < 60; ++x) {
      const point from = source({x + 0.5, y + 0.5});
      const auto near_edge = [](double v) { return std::abs(v - std::nearbyint(v)) < 1e-3; };
      if (near_edge(from.x) || near_edge(from.y)) continue;
      const bool in = from.x > 0 && from.x < 60 && from.y > 0 && from.y < 40;
      inside += in;
      CHECK(q.row(y)[x] == (in ? p.row(static_cast<int>(from.y))[static_cast<int>(from.x)] : 0));
    }
  }
  CHECK(inside > 1000);
}

TEST_CASE("places are rounded alike whatever instructions the compiler may take") {
  const wick::image p = photo(253, 187);
  wick::ext::fingerprint_hash all;
  for (const auto filter : {wick::interpolation::nearest, wick::interpolation::bilinear}) {
    for (const double turn : {0.01, 0.3, 0.7}) {
      const warp affine{{0.9, turn, 3.3, -turn, 1.1, -4.7, 0, 0}, true, filter, {7, 7, 7, 7}, 253, 187};
      const warp tilted{
          {0.9, turn, -3.3, -turn, 1.1, 9.1, turn / 999, 0.0003}, false, filter, {7, 7, 7, 7}, 253, 187};
      for (const warp& by : {affine, tilted}) {
        const wick::image q = warped(p.view(), by);
        all.add(q.data(), q.pixels().size());
      }
    }
  }
  CHECK(all.value() == 14391128003523798050u);
}

TEST_CASE("a picture turned about what is far away has at least a pixel a side") {
  warp by{.to_source = {1, 0, 1e9, 0, 1, -1e9, 0, 0}};
  expand(by, 1, 1);
  CHECK(by.width >= 1);
  CHECK(by.height >= 1);
}

TEST_CASE("what lies infinitely far away, or nowhere, is filled") {
  const wick::image p = photo(8, 8, 3);
  for (const auto filter : {wick::interpolation::nearest, wick::interpolation::bilinear}) {
    for (const double v : {1e30, -1e30, 1e300, -1.0 / 3.5}) {
      const warp by{{1, 0, 0, 0, 1, 0, v, v}, false, filter, {7, 7, 7, 7}, 8, 8};
      CHECK(warped(p.view(), by).width() == 8);
    }
    const warp away{{1, 0, 1e9, 0, 1, 0, 0, 0}, true, filter, {7, 7, 7, 7}, 70, 8};
    CHECK(warped(p.view(), away) == flat(70, 8, 3, 7));
  }
}

}  // namespace wick_test::warp_tests
