// Unusual pictures: of odd sizes, depths and frames, by whichever decoder takes them, beside Pillow.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "../support/picture.hpp"
#include "../support/pillow.hpp"
#include <wick/codec/detail/libjpeg_turbo.hpp>
#include <wick/image/decode.hpp>

namespace wick_test::odd_pictures_tests {

using wick::color;
using wick::image;
using wick::lazy_image;

namespace {

lazy_image decoded(const std::string& file, const wick::decode_options& options = {}) {
#ifdef WICK_TEST_LIBJPEG_TURBO
  wick::ext::codecs().add(wick::detail::libjpeg_turbo_codec);
#endif
  wick::context context = context_at(0);
  return wick::decode(options)(as_bytes(file), context);
}

}  // namespace

TEST_CASE("pictures of any size come out whole, cut at each border and resized") {
  const std::pair<int, int> sizes[] = {{1, 1}, {2, 1}, {1, 7}, {17, 9}, {65535, 1}, {1, 65535}, {8191, 3}};
  for (const auto& [w, h] : sizes) {
    const image p = photo(w, h);
    for (const std::string& file :
         {encode_jpeg(p, 95), encode_png(p), encode_bmp(p), encode_gif(photo(w, h, 1))}) {
      CAPTURE(w);
      CAPTURE(h);
      const lazy_image picture = decoded(file, {.exact = true});
      REQUIRE(picture.extents() == wick::shape{h, w, 3});
      const image whole = std::as_const(picture).pixels();
      if (file[1] == 'P' || file[0] == 'B') CHECK(whole == p);  // PNG, BMP
      const int cut_w = std::max(1, w / 3), cut_h = std::max(1, h / 3);
      for (const auto& [x, y] : {std::pair{0, 0}, {w - cut_w, 0}, {0, h - cut_h}, {w - cut_w, h - cut_h}}) {
        for (const bool resized : {false, true}) {
          lazy_image part = decoded(file, {.exact = true}), same(whole);
          for (lazy_image* one : {&part, &same}) {
            one->crop({x, y, cut_w, cut_h});
            if (resized) one->resize(11, 6);
            one->mirror_x();
          }
          CHECK(std::move(part).pixels() == std::move(same).pixels());
        }
      }
      lazy_image small = decoded(file);
      small.resize(5, 5);
      CHECK(std::move(small).pixels().width() == 5);
    }
  }
}

TEST_CASE("an animated GIF gives its first frame, and palettes, bits and alpha are as Pillow reads them") {
  pillow with;
  const std::string a = with.write("a.png", encode_png(photo(40, 30, 3, 1))),
                    b = with.write("b.png", encode_png(photo(40, 30, 3, 2)));
  const std::string alpha = with.write("alpha.png", encode_png(photo(40, 30, 4)));
  const std::string animated = with.path("animated.gif"), palette = with.path("palette.png"),
                    bits = with.path("bits.png"), bitmap = with.path("bitmap.bmp");
  with.job("frames " + a + " " + animated + " " + b);
  with.job("convert " + a + " " + palette + " P PNG transparency=0");
  with.job("convert " + a + " " + bits + " 1 PNG");
  with.job("convert " + a + " " + bitmap + " P BMP");
  const std::string files[] = {animated, palette, bits, bitmap, alpha};
  for (const std::string& file : files) {
    with.job("load " + file + " " + file + ".rgb RGB");
    with.job("load " + file + " " + file + ".rgba RGBA");
  }
  if (!with.run()) return;
  for (const std::string& file : files) {
    const std::string name = file.substr(file.rfind('/') + 1), encoded = with.read(name);
    CAPTURE(name);
    CHECK(decoded(encoded).pixels() == with.pixels(name + ".rgb", 40, 30, 3));
    CHECK(decoded(encoded, {.mode = color::rgba}).pixels() == with.pixels(name + ".rgba", 40, 30, 4));
  }
}

TEST_CASE("what is no picture, or none of any size, is an error that says so") {
  CHECK(contains(message_of([] { return decoded(""); }), "0 bytes"));
  CHECK(contains(message_of([] { return decoded(std::string(64, '\0')); }), "zeros"));
  CHECK(contains(message_of([] { return decoded(make_png({.width = 0, .height = 5})); }), "0 x 5"));
  CHECK(contains(message_of([] { return decoded(with_jpeg_size(encode_jpeg(photo(16, 16)), 16, 0)); }),
                 "16 x 0"));
  CHECK(contains(message_of([] { return decoded("\xFF\xD8\xFF"); }), "truncated JPEG"));
  CHECK(contains(message_of([] { return decoded(make_png({.width = 4, .height = 4})).pixels(); }), "damaged",
                 "PNG"));
}

}  // namespace wick_test::odd_pictures_tests
