#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "../support/picture.hpp"
#include "../support/pillow.hpp"
#include <wick/batch/batch.hpp>
#include <wick/failures/on_error.hpp>
#include <wick/image/decode.hpp>
#include <wick/loader/loader.hpp>
#include <wick/sources/memory.hpp>
#include <wick/transforms/crop.hpp>
#include <wick/transforms/flip.hpp>
#include <wick/transforms/normalize.hpp>
#include <wick/transforms/pad.hpp>
#include <wick/transforms/resize.hpp>

namespace wick_test::decode_tests {

static_assert(wick::detail::stage_of<wick::detail::decode_stage, wick::ext::stage_kind::sample_or_data>);

using wick::color;
using wick::image;

namespace {

wick::lazy_image run(const wick::detail::decode_stage& stage, const std::string& encoded) {
  wick::context ctx = context_at(0);
  return stage(as_bytes(encoded), ctx);
}

/// A source of these files.
struct encoded_pictures {
  std::uint64_t size() const { return files.size(); }
  wick::sample<wick::bytes> at(std::uint64_t i) const { return {as_bytes(files[i]), 0}; }
  std::vector<std::string> files;
};

}  // namespace

TEST_CASE("decode gives the channels asked for, whatever the file has") {
  for (int channels = 1; channels <= 4; ++channels) {
    const std::string file = encode_png(photo(19, 11, channels));
    CHECK(run(wick::decode(), file).extents() == wick::shape{11, 19, 3});
    CHECK(run(wick::decode({.mode = color::gray}), file).extents() == wick::shape{11, 19, 1});
    CHECK(run(wick::decode({.mode = color::rgba}), file).pixels().channels() == 4);
    CHECK(run(wick::decode({.mode = color::unchanged}), file).pixels() == photo(19, 11, channels));
  }
}

TEST_CASE("decode refuses a bomb before it takes memory for it") {
  const std::string bomb = make_png({.width = 100'000, .height = 100'000});
  CHECK(contains(message_of([&] { return run(wick::decode(), bomb); }), "100000 x 100000", "max_pixels"));
  const std::string large = with_jpeg_size(encode_jpeg(photo(16, 16)), 65535, 65535);
  CHECK(contains(message_of([&] { return run(wick::decode(), large); }), "65535 x 65535"));
  const std::string small = encode_png(photo(10, 10));
  CHECK(contains(message_of([&] { return run(wick::decode({.max_pixels = 99}), small); }), "10 x 10", "99"));
  CHECK(run(wick::decode({.max_pixels = 100}), small).width() == 10);
}

TEST_CASE("a file that breaks off is refused by decode itself, before the batch") {
  const std::string jpeg = encode_jpeg(photo(64, 48)), png = encode_png(photo(64, 48));
  CHECK(contains(message_of([&] { return run(wick::decode(), jpeg.substr(0, jpeg.size() / 2)); }),
                 "truncated JPEG"));
  CHECK(contains(message_of([&] { return run(wick::decode(), png.substr(0, png.size() / 2)); }),
                 "truncated PNG"));
  CHECK(contains(message_of([&] { return run(wick::decode(), ""); }), "0 bytes"));
}

TEST_CASE("a JPEG that breaks off can be taken as it is, on request") {
  const std::string jpeg = encode_jpeg(photo(64, 48));
  const std::string half = jpeg.substr(0, jpeg.size() / 2);
  const wick::image whole = run(wick::decode(), jpeg).pixels();
  wick::image got;
  const std::string text = message_of([&] {
    got = run(wick::decode({.allow_truncated = true}), half).pixels();
    return 0;
  });
  CHECK(text.empty());
  REQUIRE(got.height() == 48);
  // What is there comes out: where stb_image decodes it, some levels off.
  CHECK(std::equal(got.row(0), got.row(8), whole.row(0), [](int a, int b) { return std::abs(a - b) <= 3; }));
  CHECK_FALSE(got == whole);
}

TEST_CASE("decode refuses a limit that refuses everything") {
  CHECK(contains(message_of([] { return wick::decode({.max_pixels = 0}); }), "max_pixels = 0"));
}

TEST_CASE("what a decoder has to say is in the report") {
  static bool talks = false;
  static const wick::ext::codec talker{
      "a test's decoder",
      [](std::span<const std::byte>, wick::ext::picture_info&) { return false; },
      nullptr,
      nullptr,
      nullptr,
      nullptr,
      [] { return std::string(talks ? "this library is the wrong one" : ""); }};
  wick::ext::codecs().add(talker);
  const std::vector<std::string> files{encode_png(photo(8, 8))};
  wick::loader pictures(wick::in_memory(files) | [](const std::string& file) { return as_bytes(file); } |
                        wick::decode() | wick::array_batch(1));
  CHECK_FALSE(contains(pictures.report().to_string(), "a test's decoder"));
  talks = true;
  CHECK(contains(pictures.report().to_string(), "note: a test's decoder: this library is the wrong one"));
  talks = false;
}

TEST_CASE(
    "the note for the report names the decoder to install for JPEGs and PNGs that were seen, and no other") {
#ifdef WICK_TEST_LIBDEFLATE
  constexpr bool fast_png = true;
#else
  constexpr bool fast_png = false;
#endif
  const wick::detail::decode_stage stage = wick::decode();
  CHECK(stage.note().empty());
  run(stage, encode_gif(photo(8, 8, 1)));
  CHECK(stage.note().empty());
  for (int i = 0; i < 3; ++i) run(stage, encode_png(photo(8, 8)));
  CHECK(stage.note().starts_with("decode: PNG by zlib: install libdeflate") == !fast_png);
  const wick::detail::decode_stage copy = stage;
  CHECK(copy.note().empty());
  std::string jpeg = encode_jpeg(photo(8, 8));
  run(stage, jpeg);
  CHECK_FALSE(contains(stage.note(), "JPEG"));
  jpeg[jpeg.find("\xFF\xC0") + 1] = '\xC2';  // by its header, a progressive one
  run(stage, jpeg);
  const bool fast_jpeg = wick::ext::codecs().probe(as_bytes(jpeg).span()).decoder->name != "stb_image";
  CHECK(contains(stage.note(), "not baseline, by stb_image: install libjpeg-turbo") == !fast_jpeg);
  CHECK(stage.note().empty() == (fast_png && fast_jpeg));
}

TEST_CASE(
    "depth maps and masks are batches of numbers: int32, float32 and classes, cut and flipped on the way") {
  png_parts parts{.width = 4, .height = 2, .bits = 16, .color_type = 0};
  for (int i = 0; i < 8; ++i) {
    parts.rows.push_back(static_cast<std::uint8_t>(i * 31));
    parts.rows.push_back(static_cast<std::uint8_t>(i));
  }
  const std::string depth = make_png(parts);
  parts = {.width = 4, .height = 2, .bits = 4, .color_type = 3};
  parts.palette.assign(48, 200);
  parts.rows = {0x01, 0x23, 0x45, 0x67};
  const std::string mask = make_png(parts);
  const auto batch_of = [](const std::string& file, const wick::decode_options& options) {
    wick::loader loader(encoded_pictures{{file, file}} | wick::decode(options) | wick::center_crop(2) |
                            wick::horizontal_flip() | wick::array_batch(2),
                        {.workers = 1});
    return loader.next()->data;
  };
  const auto numbers = batch_of(depth, {.mode = wick::color::gray, .type = wick::dtype::int32});
  CHECK(numbers.type() == wick::dtype::int32);
  CHECK(numbers.extents() == wick::shape{2, 1, 2, 2});
  const std::int32_t expected[] = {2 * 31 * 256 + 2, 1 * 31 * 256 + 1, 6 * 31 * 256 + 6, 5 * 31 * 256 + 5};
  CHECK(std::memcmp(numbers.data(), expected, sizeof expected) == 0);
  CHECK(std::memcmp(numbers.data() + sizeof expected, expected, sizeof expected) == 0);
  const auto scaled = batch_of(depth, {.mode = wick::color::gray, .type = wick::dtype::float32});
  CHECK(scaled.type() == wick::dtype::float32);
  float first = 0;
  std::memcpy(&first, scaled.data(), sizeof first);
  CHECK(first == static_cast<float>(expected[0]) / 65535.0f);
  const auto classes = batch_of(mask, {.mode = wick::color::index});
  CHECK(classes.type() == wick::dtype::uint8);
  const std::uint8_t wanted[] = {2, 1, 6, 5};
  CHECK(std::memcmp(classes.data(), wanted, 4) == 0);
}

TEST_CASE("padding keeps a mask a mask") {
  png_parts parts{.width = 2, .height = 2, .bits = 8, .color_type = 3};
  parts.palette.assign(9, 100);
  parts.rows = {0, 1, 2, 1};
  wick::context context = context_at(0);
  wick::lazy_image mask =
      run(wick::decode({.mode = wick::color::index, .type = wick::dtype::int32}), make_png(parts));
  mask = wick::pad(1, {.fill = 255})(std::move(mask), context);
  CHECK(mask.type() == wick::dtype::int32);
  CHECK(contains(message_of([&] { return mask.resize(8, 8), 0; }), "nearest"));
  std::int32_t out[16] = {};
  mask.write_to({reinterpret_cast<std::byte*>(out), false});
  CHECK(out[0] == 255);
  CHECK(out[5] == 0);
  CHECK(out[10] == 1);
}

TEST_CASE("a picture that is turned comes out in the numbers that were asked for") {
  for (int orientation = 1; orientation <= 8; ++orientation) {
    CAPTURE(orientation);
    const std::string exif = std::string("Exif\0\0", 6) +
                             std::string("II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0", 18) +
                             static_cast<char>(orientation) + std::string(7, '\0');
    const std::string file = with_jpeg_segment(encode_jpeg(photo(8, 4)), 0xE1, exif);
    wick::lazy_image got = run(wick::decode({.type = wick::dtype::float32, .orient = true}), file);
    CHECK(got.type() == wick::dtype::float32);
    CHECK(got.width() == (orientation > 4 ? 4 : 8));
  }
}

namespace {

/// Of files that begin with "HUGE": there's no memory for them.
bool probe_huge(std::span<const std::byte> encoded, wick::ext::picture_info& info) {
  if (encoded.size() < 4 || std::memcmp(encoded.data(), "HUGE", 4) != 0) return false;
  info.format = "HUGE";
  info.width = 12'000;
  info.height = 11'000;
  info.channels = 3;
  return true;
}
wick::ext::decoded_picture decode_huge(std::span<const std::byte>, const wick::ext::picture_info&,
                                       const wick::ext::decode_request&) {
  throw std::bad_alloc();
}
constexpr wick::ext::codec huge_codec{"huge", &probe_huge, nullptr, &decode_huge, nullptr, nullptr};

}  // namespace

TEST_CASE("memory that runs out while an image is decoded is an error of decode() that names its size") {
  wick::ext::codecs().add(huge_codec);
  const encoded_pictures source{.files = {"HUGE"}};
  const auto failure = [&](auto&& pipeline) {
    wick::loader l(pipeline, {.workers = 1, .on_error = wick::on_error::skip});
    l.epoch(0);
    static_cast<void>(message_of([&] {  // nothing may be left of the epoch
      while (l.next()) {
      }
      return 0;
    }));
    REQUIRE(l.failure_log().total() == 1);
    return l.failure_log().entries().front();
  };
  const auto check = [&](const wick::failure_log::entry& e) {
    CHECK(e.stage == "decode");
    CHECK(e.kind == wick::error_kind::memory);
    CHECK(contains(e.text, "no memory for an image of 12000 x 11000 px", "loader_options::workers",
                   "max_pixels"));
  };
  check(failure(source | wick::decode() | wick::resize(8, 8) | wick::array_batch(1)));
  check(failure(source | wick::decode() | wick::resize(8, 8) |
                wick::normalize({0.5f, 0.5f, 0.5f}, {0.5f, 0.5f, 0.5f}) | wick::array_batch(1)));
  check(failure(source | wick::decode() |
                wick::map("look", [](wick::sample<wick::image> s) { return s.data.width(); })));
}

TEST_CASE("a color JPEG in gray is its stored luminance, and grayscale() gives Pillow's convert(\"L\")") {
  pillow with;
  std::vector<std::string> files;
  for (const int quality : {1, 50, 90}) {
    files.push_back(encode_jpeg(photo(64, 48), quality));
    const std::string name = with.write("q" + std::to_string(quality), files.back());
    with.job("load_drafted " + name + " " + name + "_stored L");
    with.job("load " + name + " " + name + "_converted L");
  }
  if (!with.run()) return;
  std::size_t i = 0;
  for (const std::string quality : {"q1", "q50", "q90"}) {
    CAPTURE(quality);
    const auto greatest = [&](const image& got, const char* other) {
      const image expected = with.pixels(quality + other, 64, 48, 1);
      int most = 0;
      for (std::size_t p = 0; p < got.pixels().size(); ++p)
        most = std::max(most, std::abs(got.pixels()[p] - expected.pixels()[p]));
      return most;
    };
    CHECK(greatest(run(wick::decode({.mode = color::gray}), files[i]).pixels(), "_stored") == 0);
    wick::lazy_image colors = run(wick::decode(), files[i++]);
    colors.make_gray(1);
    CHECK(greatest(std::move(colors).pixels(), "_converted") <= 1);
  }
}

TEST_CASE("an EXIF orientation counts whatever its type and byte order") {
  const std::string whole = encode_jpeg(photo(8, 4));
  for (const bool little : {true, false}) {
    for (const int type : {1, 3, 4, 9}) {  // BYTE, SHORT, LONG, SLONG
      CAPTURE(little);
      CAPTURE(type);
      const auto number = [&](int value, int bytes) {
        std::string out(static_cast<std::size_t>(bytes), '\0');
        out[static_cast<std::size_t>(little ? 0 : bytes - 1)] = static_cast<char>(value);
        return out;
      };
      const std::string value = type == 1   ? std::string("\x06\0\0\0", 4)
                                : type == 3 ? number(6, 2) + std::string(2, '\0')
                                            : number(6, 4);
      const std::string exif = std::string("Exif\0\0", 6) + (little ? "II" : "MM") + number(42, 2) +
                               number(8, 4) + number(1, 2) +
                               (little ? std::string("\x12\x01") : std::string("\x01\x12")) +
                               number(type, 2) + number(1, 4) + value + std::string(4, '\0');
      CHECK(run(wick::decode({.orient = true}), with_jpeg_segment(whole, 0xE1, exif)).width() == 4);
    }
  }
}

TEST_CASE("a batch has the same bytes in each epoch with the crop index, too small an index, and none") {
  encoded_pictures source;
  for (std::uint64_t i = 0; i < 24; ++i)
    source.files.push_back(encode_jpeg(photo(150 + static_cast<int>(i) * 9, 120, 3, i)));
  const auto fingerprints = [&](const wick::decode_options& options, std::string* note = nullptr) {
    wick::executor workers({.workers = 2});
    wick::loader loader(source | wick::decode(options) | wick::random_resized_crop(32) | wick::array_batch(8),
                        {.seed = 1, .executor = &workers, .content_fingerprint = true});
    std::vector<std::uint64_t> out;
    for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
      for (auto& batch : loader.epoch(epoch)) (void)batch;
      out.push_back(loader.fingerprint(epoch).value);
    }
    if (note != nullptr) *note = loader.report().to_string();
    return out;
  };
  const auto expected = fingerprints({.crop_index_bytes = 0});
  std::string note;
  CHECK(fingerprints({}, &note) == expected);
  CHECK_FALSE(contains(note, "crop index"));
  CHECK(fingerprints({.crop_index_bytes = 3000}, &note) == expected);
  CHECK(contains(note, "note: decode: the crop index is full"));
}

TEST_CASE("a JPEG that claims 16 bits is an error, whatever numbers are asked for") {
  std::string file = encode_jpeg(photo(8, 8));
  const std::size_t frame = file.find("\xFF\xC0");
  REQUIRE(frame != std::string::npos);
  file[frame + 4] = 16;
  for (const wick::dtype type : {wick::dtype::uint8, wick::dtype::int32, wick::dtype::float32}) {
    const std::string text = message_of([&] {
      wick::lazy_image got = run(wick::decode({.type = type}), file);
      std::vector<std::byte> out(static_cast<std::size_t>(got.extents().count()) *
                                 wick::detail::size_of(got.type()));
      got.write_to({out.data(), false});
      return 0;
    });
    CHECK(contains(text, "JPEG"));
    CHECK_FALSE(contains(text, ".type"));
  }
}

}  // namespace wick_test::decode_tests
