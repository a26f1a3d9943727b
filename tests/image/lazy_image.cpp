#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "../support/picture.hpp"
#include <wick/codec/detail/crop_index.hpp>
#include <wick/codec/detail/jpeg_walk.hpp>
#include <wick/codec/detail/stb.hpp>
#include <wick/image/lazy_image.hpp>

namespace wick_test::lazy_image_tests {

using wick::image;
using wick::interpolation;
using wick::lazy_image;
using wick::detail::pixel_op;
using kind = wick::detail::pixel_op::kind;

namespace {

lazy_image encoded(const std::string& file, int channels) {
  wick::bytes b = as_bytes(file);
  const wick::ext::picture_info info = wick::ext::codecs().probe(b.span());
  return lazy_image(std::move(b), info, channels);
}

/// One step of a pipeline, chosen by chance.
struct step {
  enum { crop, resize, flip_x, flip_y, color, gray } what;
  wick::rect part{};
  int width = 0, height = 0;
  interpolation filter = interpolation::bilinear;
  pixel_op op{};
};

step random_step(wick::random_stream& random, int width, int height, bool color) {
  step s{};
  const std::uint64_t choice = random.below(color ? 10 : 7);
  if (choice < 2) {
    s.what = step::crop;
    s.part.width = 1 + static_cast<int>(random.below(static_cast<std::uint64_t>(width)));
    s.part.height = 1 + static_cast<int>(random.below(static_cast<std::uint64_t>(height)));
    s.part.x = static_cast<int>(random.below(static_cast<std::uint64_t>(width - s.part.width + 1)));
    s.part.y = static_cast<int>(random.below(static_cast<std::uint64_t>(height - s.part.height + 1)));
  } else if (choice < 4) {
    s.what = step::resize;
    s.width = 1 + static_cast<int>(random.below(70));
    s.height = 1 + static_cast<int>(random.below(70));
    s.filter = static_cast<interpolation>(random.below(3));
  } else if (choice < 6) {
    s.what = choice == 4 ? step::flip_x : step::flip_y;
  } else if (choice == 6) {
    s.what = step::resize;  // to the size it has
    s.width = width;
    s.height = height;
  } else if (choice < 9) {
    s.what = step::color;
    s.op = {static_cast<kind>(random.below(5)), static_cast<float>(random.uniform(0.5, 1.5))};
    if (s.op.what == kind::hue) s.op.value -= 1;
  } else {
    s.what = step::gray;
    s.width = random.bernoulli(0.5) ? 1 : 3;
  }
  return s;
}

void take(lazy_image& picture, const step& s) {
  switch (s.what) {
    case step::crop:
      picture.crop(s.part);
      break;
    case step::resize:
      picture.resize(s.width, s.height, s.filter);
      break;
    case step::flip_x:
      picture.mirror_x();
      break;
    case step::flip_y:
      picture.mirror_y();
      break;
    case step::color:
      picture.apply(s.op);
      break;
    default:
      picture.make_gray(s.width);
      break;
  }
}

std::vector<std::uint8_t> slot_of(const lazy_image& picture, bool planar) {
  std::vector<std::uint8_t> memory(static_cast<std::size_t>(picture.extents().count()) *
                                   wick::detail::size_of(picture.type()));
  picture.write_to({reinterpret_cast<std::byte*>(memory.data()), planar});
  return memory;
}

}  // namespace

TEST_CASE("any sequence of steps gives the pixels of doing each at once, to the bit") {
  wick::random_stream random(11, 0, 0, 0);
  for (int round = 0; round < 400; ++round) {
    const bool color = round % 2 != 0;
    const int channels = 1 + round % 4;
    const image start = photo(64, 48, channels, static_cast<std::uint64_t>(round));
    lazy_image lazy = round % 3 == 0 ? encoded(encode_png(start), channels) : lazy_image(start);
    image eager = start;
    const std::uint64_t steps = 1 + random.below(9);
    for (std::uint64_t i = 0; i < steps; ++i) {
      const step s = random_step(random, eager.width(), eager.height(), color);
      take(lazy, s);
      if (i % 3 == 1) lazy = lazy.clone();  // the same, decoded or not
      lazy_image one(eager);
      take(one, s);
      eager = std::move(one).pixels();
      CHECK(lazy.extents() == eager.extents());
    }
    CAPTURE(round);
    REQUIRE(std::as_const(lazy).pixels() == eager);
    for (const bool planar : {false, true}) {
      std::vector<std::uint8_t> expected(eager.pixels().size());
      eager.write_to({reinterpret_cast<std::byte*>(expected.data()), planar});
      CHECK(slot_of(lazy, planar) == expected);
    }
    CHECK(std::move(lazy).pixels() == eager);
  }
}

TEST_CASE("a plan over an encoded picture is carried out in one pass, not step by step") {
  lazy_image picture = encoded(encode_jpeg(photo(100, 80)), 3);
  picture.crop({10, 10, 80, 60});
  picture.resize(40, 30);
  picture.mirror_x();
  picture.crop({5, 5, 20, 20});
  CHECK(picture.geometry().source == wick::rect{10, 10, 80, 60});
  CHECK(picture.geometry().window == wick::rect{15, 5, 20, 20});
  CHECK(picture.geometry().mirror_x);
}

TEST_CASE("a decoder that delivers only a part, or a smaller picture, is understood") {
  // Knows the photo with the seed in its first byte; delivers no more than is wanted, at half the size if
  // that suffices.
  static const wick::ext::codec partial{
      "partial",
      [](std::span<const std::byte>, wick::ext::picture_info& info) {
        info.format = "partial";
        info.width = 128;
        info.height = 96;
        return true;
      },
      nullptr,
      [](std::span<const std::byte> data, const wick::ext::picture_info&,
         const wick::ext::decode_request& request) {
        const image whole = photo(128, 96, request.channels, static_cast<std::uint64_t>(data[0]));
        const wick::rect w = request.wanted;
        lazy_image cut(whole);
        if (request.scale > 0.5) {
          cut.crop(w);
          return wick::ext::decoded_picture{std::move(cut).pixels(), w.x, w.y, 1.0};
        }
        const int left = w.x / 2 * 2, top = w.y / 2 * 2;
        const int right = std::min(128, (w.x + w.width + 1) / 2 * 2),
                  bottom = std::min(96, (w.y + w.height + 1) / 2 * 2);
        cut.crop({left, top, right - left, bottom - top});
        cut.resize((right - left) / 2, (bottom - top) / 2);
        return wick::ext::decoded_picture{std::move(cut).pixels(), left, top, 0.5};
      }};
  const auto make = [&](std::byte seed) {
    wick::bytes b(&seed, 1);
    wick::ext::picture_info info;
    partial.probe(b.span(), info);
    info.decoder = &partial;
    return lazy_image(std::move(b), info, 3);
  };
  for (int round = 0; round < 8; ++round) {
    lazy_image from_decoder = make(std::byte{5}), from_pixels(photo(128, 96, 3, 5));
    const bool small = round % 2 != 0;
    for (lazy_image* p : {&from_decoder, &from_pixels}) {
      p->crop({7 + round, 4, 90, 80 + round});
      if (small)
        p->resize(24, 20);
      else
        p->resize(70, 66);
      p->crop({3, 2, 15, 13});
      if (round & 2) p->mirror_x();
      if (round & 4) p->mirror_y();
    }
    const difference d = compare(from_decoder.pixels(), from_pixels.pixels());
    CHECK(d.greatest <= (small ? 40 : 0));
    CHECK(d.mean <= (small ? 6 : 0));
  }
}

TEST_CASE("a decoder that gives less of the picture than was asked for is named") {
  // Its first byte says which side is a pixel short; 0: none is.
  static const wick::ext::codec careless{
      "careless",
      [](std::span<const std::byte>, wick::ext::picture_info& info) {
        info.format = "careless";
        info.width = 20;
        info.height = 16;
        return true;
      },
      nullptr,
      [](std::span<const std::byte> data, const wick::ext::picture_info&,
         const wick::ext::decode_request& request) {
        wick::rect w = request.wanted;
        const int side = static_cast<int>(data[0]);
        if (side == 1) ++w.x, --w.width;
        if (side == 2) --w.width;
        if (side == 3) ++w.y, --w.height;
        if (side == 4) --w.height;
        lazy_image cut(photo(20, 16, request.channels));
        cut.crop(w);
        return wick::ext::decoded_picture{std::move(cut).pixels(), w.x, w.y, 1.0};
      }};
  for (int side = 0; side < 5; ++side) {
    for (const bool resized : {false, true}) {
      CAPTURE(side);
      CAPTURE(resized);
      const auto first = static_cast<std::byte>(side);
      wick::bytes b(&first, 1);
      wick::ext::picture_info info;
      careless.probe(b.span(), info);
      info.decoder = &careless;
      lazy_image picture(std::move(b), info, 3), same(photo(20, 16));
      for (lazy_image* p : {&picture, &same}) {
        p->crop({2, 3, 10, 9});
        if (resized) p->resize(13, 11);
      }
      if (side == 0) {
        CHECK(std::as_const(picture).pixels() == std::as_const(same).pixels());
      } else {
        CHECK(contains(message_of([&] { return std::as_const(picture).pixels(); }),
                       "careless gave less of the picture"));
      }
    }
  }
}

TEST_CASE("untouched pixels are handed over, not copied") {
  image p = photo(100, 100);
  const std::uint8_t* const data = p.data();
  lazy_image lazy(std::move(p));
  lazy.mirror_x();
  lazy.mirror_x();
  const image back = std::move(lazy);  // as a stage that takes a wick::image gets it
  CHECK(back.data() == data);
}

TEST_CASE("a normalized picture is float32 and takes no more color") {
  lazy_image lazy(photo(10, 8));
  lazy.normalize({{0.5f}, {0.25f}, 1});
  CHECK(lazy.type() == wick::dtype::float32);
  CHECK(contains(message_of([&] {
                   return lazy.apply({kind::hue, 0.1f}), 0;
                 }),
                 "normalize", "last picture stage"));
  CHECK(contains(message_of([&] { return lazy.normalize({{0.5f}, {0.25f}, 1}), 0; }), "second normalize"));
  CHECK(contains(message_of([&] { return std::as_const(lazy).pixels(); }), "float32"));
  lazy.mirror_x();
  lazy.crop({1, 1, 4, 4});
  CHECK(slot_of(lazy, false).size() == 4 * 4 * 3 * 4);
}

#ifdef WICK_TEST_LIBJPEG_TURBO

TEST_CASE("where the crop index is wrong, the picture is decoded again from the top, into the same memory") {
  using wick::detail::crop_index;
  const std::string file = encode_jpeg(photo(400, 300));
  const auto index = std::make_shared<crop_index>(std::size_t{1} << 20);
  const auto picture = [&](bool indexed, int side) {
    wick::bytes b = as_bytes(file);
    const wick::ext::picture_info info = wick::ext::codecs().probe(b.span());
    lazy_image out(std::move(b), info, 3, false, {}, indexed ? index : nullptr);
    out.crop({170, 20, 200, 260});
    if (side != 0) out.resize(side, side);
    out.mirror_y();
    return std::move(out).pixels();
  };
  const std::uint64_t key = crop_index::key_of(std::as_bytes(std::span(file)));
  wick::detail::jpeg_walk walk;
  walk.begin({}, {}, 0, 256, 1024);
  std::size_t dropped = 0;
  for (const int side : {0, 150, 40}) {  // copied, of full size, and scaled by the decoder
    CAPTURE(side);
    const image expected = picture(false, side);
    REQUIRE(picture(true, side) == expected);
    index->begin(key, walk);
    std::vector<wick::detail::jpeg_place> places(walk.places().begin(), walk.places().end());
    REQUIRE(places.size() > 20);
    places[places.size() / 2].last_dc[0] += 5;  // rows above have been written when it is found
    index->drop(key);
    index->keep(key, places, places.size());
    CHECK(picture(true, side) == expected);
    CHECK(index->pictures() == 0);
    dropped += 2;
    CHECK(index->dropped() == dropped);
  }
}

#endif

}  // namespace wick_test::lazy_image_tests
