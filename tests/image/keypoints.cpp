#include <array>
#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include <wick/image/detail/steps.hpp>
#include <wick/image/keypoints.hpp>

namespace wick_test::keypoints_tests {

using wick::keypoints;
using wick::detail::geometry_step;
using points = std::vector<std::array<float, 2>>;
using marks = std::vector<std::uint8_t>;

namespace {

const keypoints four{.xy = {{0, 0}, {99, 59}, {25.5f, 12.25f}, {70, 50}}, .visible = {2, 1, 2, 0}};

/// On a picture of 100 x 60.
keypoints after(const geometry_step& step, keypoints of = four) {
  follow(of, step, {100, 60});
  return of;
}
bool close(const points& a, const points& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::abs(a[i][0] - b[i][0]) > 1e-4f || std::abs(a[i][1] - b[i][1]) > 1e-4f) return false;
  }
  return true;
}

}  // namespace

// The numbers are those of torchvision.transforms.v2.functional (0.29).

TEST_CASE("a crop moves points, and marks those that are outside") {
  const keypoints out = after(geometry_step::crop({20, 10, 60, 30}));
  CHECK(close(out.xy, {{-20, -10}, {79, 49}, {5.5f, 2.25f}, {50, 40}}));
  CHECK(out.visible == marks{0, 0, 2, 0});
}

TEST_CASE("resizes, flips and borders move them") {
  CHECK(close(after(geometry_step::resize(70, 33, wick::interpolation::bilinear)).xy,
              {{0, 0}, {69.3f, 32.45f}, {17.85f, 6.7375f}, {49, 27.5f}}));
  CHECK(close(after(geometry_step::mirror_x()).xy, {{99, 0}, {0, 59}, {73.5f, 12.25f}, {29, 50}}));
  CHECK(close(after(geometry_step::mirror_y()).xy, {{0, 59}, {99, 0}, {25.5f, 46.75f}, {70, 9}}));
  const keypoints padded = after(geometry_step::pad({{3, 5, 7, 9}, {}, {}, 0}));
  CHECK(close(padded.xy, {{3, 5}, {102, 64}, {28.5f, 17.25f}, {73, 55}}));
  CHECK(padded.visible == marks{2, 1, 2, 0});
}

TEST_CASE("a point that was outside stays marked when a border brings it back") {
  keypoints out = after(geometry_step::crop({20, 10, 60, 30}), {.xy = {{10, 15}, {30, 15}}});
  CHECK(out.visible == marks{0, 1});
  follow(out, geometry_step::pad({20, {}, {}, 0}), {60, 30});
  CHECK(close(out.xy, {{10, 25}, {30, 25}}));
  CHECK(out.visible == marks{0, 1});
}

TEST_CASE("other numbers of marks than of points, and borders that repeat the picture, are refused") {
  CHECK(contains(message_of([] {
                   return after(geometry_step::mirror_x(), {{{1, 1}}, {1, 1}});
                 }),
                 "2 marks of 1 points"));
  CHECK(contains(message_of([] {
                   return after(geometry_step::pad({3, {}, wick::padding_mode::edge, 0}));
                 }),
                 "keypoints", "padding_mode::constant"));
}

}  // namespace wick_test::keypoints_tests
