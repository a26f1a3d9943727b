#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include <wick/pixels/geometry.hpp>

namespace wick_test::geometry_tests {

using wick::rect;
using wick::detail::plan;

TEST_CASE("before a resize a crop narrows the source, after one the window") {
  plan p = plan::whole(500, 375);
  compose_crop(p, {100, 50, 300, 200});
  CHECK(p.source == rect{100, 50, 300, 200});
  CHECK_FALSE(p.resizes());
  CHECK(compose_resize(p, 150, 100, wick::interpolation::bilinear));
  compose_crop(p, {10, 20, 64, 32});
  CHECK(p.source == rect{100, 50, 300, 200});
  CHECK(p.window == rect{10, 20, 64, 32});
  CHECK(p.output_width() == 64);
  compose_crop(p, {1, 2, 3, 4});
  CHECK(p.window == rect{11, 22, 3, 4});
}

TEST_CASE("a crop of a mirrored picture counts from the other side") {
  plan p = plan::whole(100, 60);
  compose_mirror_x(p);
  compose_crop(p, {10, 5, 30, 20});
  CHECK(p.source == rect{60, 5, 30, 20});
  compose_mirror_y(p);
  compose_crop(p, {0, 0, 30, 5});
  CHECK(p.source == rect{60, 20, 30, 5});
  compose_mirror_x(p);
  CHECK_FALSE(p.mirror_x);
  CHECK(p.mirror_y);
}

TEST_CASE("a second resize is not composed, unless it changes nothing") {
  plan p = plan::whole(500, 375);
  CHECK(compose_resize(p, 250, 200, wick::interpolation::bilinear));
  const plan before = p;
  CHECK(compose_resize(p, 250, 200, wick::interpolation::bicubic));
  CHECK(p == before);
  CHECK_FALSE(compose_resize(p, 100, 100, wick::interpolation::bilinear));
  CHECK(p == before);
}

TEST_CASE("nearest after a mirror is not composed: its ties fall to one side") {
  plan p = plan::whole(500, 375);
  compose_mirror_x(p);
  CHECK_FALSE(compose_resize(p, 250, 200, wick::interpolation::nearest));
  CHECK(compose_resize(p, 250, 200, wick::interpolation::bilinear));
}

TEST_CASE("a crop that does not fit says both sizes and what to do") {
  plan p = plan::whole(100, 80);
  CHECK(message_of([&] {
          return compose_crop(p, {0, 0, 224, 224}), 0;
        }) == "crop 224 x 224 is larger than the picture, 100 x 80; resize first or pad");
  CHECK(contains(message_of([&] {
                   return compose_crop(p, {90, 0, 20, 20}), 0;
                 }),
                 "20 x 20 at (90, 0)", "100 x 80"));
  CHECK(contains(message_of([&] { return compose_crop(p, {-1, 0, 20, 20}), 0; }), "(-1, 0)"));
  CHECK(contains(message_of([&] { return compose_crop(p, {0, 0, 0, 20}), 0; }), "empty"));
  CHECK(contains(message_of([&] { return compose_resize(p, 0, 20, wick::interpolation::bilinear); }),
                 "0 x 20"));
  CHECK(p == plan::whole(100, 80));
}

}  // namespace wick_test::geometry_tests
