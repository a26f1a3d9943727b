#include <array>
#include <cstdint>

#include "support/doctest.hpp"
#include <wick/image/border.hpp>

namespace wick_test::border_tests {

TEST_CASE("edges are one number, two or four, as torchvision.transforms.Pad takes them") {
  CHECK(wick::edges(4).each() == std::array{4, 4, 4, 4});
  CHECK(wick::edges(8, 2).each() == std::array{8, 2, 8, 2});
  CHECK(wick::edges(1, 2, 3, 4).each() == std::array{1, 2, 3, 4});
  CHECK(wick::edges().empty());
  CHECK(wick::edges(0).empty());
  CHECK_FALSE(wick::edges(0, 0, 0, 1).empty());
}

TEST_CASE("a fill color is one level for all channels, or one for each; it is cut to 0 to 255") {
  using levels = std::array<std::uint8_t, 4>;
  CHECK(wick::fill_color().levels == levels{0, 0, 0, 0});
  CHECK(wick::fill_color(128).levels == levels{128, 128, 128, 128});
  CHECK(wick::fill_color(124, 116, 104).levels == levels{124, 116, 104, 255});
  CHECK(wick::fill_color(-1, 256, 7, 1000).levels == levels{0, 255, 7, 255});
}

}  // namespace wick_test::border_tests
