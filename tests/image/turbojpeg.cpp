#include <algorithm>
#include <span>
#include <string>

#include "../support/doctest.hpp"
#include "../support/picture.hpp"
#include <wick/flow/random.hpp>
#include <wick/image/stb.hpp>
#include <wick/image/turbojpeg.hpp>

#ifdef WICK_TEST_TURBOJPEG

using namespace wick_test;

TEST_CASE("a part of a JPEG is that part of the whole JPEG, at each scale and at each border") {
  for (const int channels : {1, 3}) {
    for (const int quality : {85, 95}) {  // with chroma at half the size, and at full size
      const std::string file = encode_jpeg(photo(203, 149, channels), quality);
      const auto data = std::as_bytes(std::span(file));
      wick::picture_info info;
      REQUIRE(wick::turbojpeg_codec.probe(data, info));
      for (const int part : {1, 2, 4, 8}) {
        const double scale = part / 8.0;
        const wick::image whole =
            wick::turbojpeg_codec.decode(data, info, {{0, 0, 203, 149}, scale, channels}).pixels;
        wick::random_stream random(static_cast<std::uint64_t>(part), 0, 0, 0);
        for (int round = 0; round < 60; ++round) {
          wick::rect r{static_cast<int>(random.below(203)), static_cast<int>(random.below(149)), 0, 0};
          r.width = 1 + static_cast<int>(random.below(static_cast<std::uint64_t>(203 - r.x)));
          r.height = 1 + static_cast<int>(random.below(static_cast<std::uint64_t>(149 - r.y)));
          const auto got = wick::turbojpeg_codec.decode(data, info, {r, scale, channels});
          REQUIRE(got.scale == scale);
          const int left = static_cast<int>(got.left * scale), top = static_cast<int>(got.top * scale);
          const int x0 = static_cast<int>(r.x * scale), x1 = static_cast<int>((r.x + r.width - 1) * scale);
          const int y0 = static_cast<int>(r.y * scale), y1 = static_cast<int>((r.y + r.height - 1) * scale);
          REQUIRE(x0 >= left);
          REQUIRE(y0 >= top);
          REQUIRE(x1 - left < got.pixels.width());
          REQUIRE(y1 - top < got.pixels.height());
          bool same = true;
          for (int y = y0; y <= y1; ++y) {
            same = same && std::equal(whole.row(y) + x0 * channels, whole.row(y) + (x1 + 1) * channels,
                                      got.pixels.row(y - top) + (x0 - left) * channels);
          }
          CAPTURE(part);
          CAPTURE(round);
          CHECK(same);
        }
      }
    }
  }
}

#endif
