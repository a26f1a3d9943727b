#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/jpeg_writer.hpp"
#include "../support/message_of.hpp"
#include "../support/picture.hpp"
#include <wick/codec/detail/libjpeg_turbo.hpp>
#include <wick/codec/detail/stb.hpp>
#include <wick/image/decode.hpp>

namespace wick_test::libjpeg_turbo_tests {

#ifdef WICK_TEST_LIBJPEG_TURBO

using wick::image;

// What each kind of JPEG looks like is tests/codec/jpeg_kinds.cpp's.

namespace {

/// The picture, or the error's text.
std::pair<image, std::string> outcome(const std::string& file, const wick::rect& part, double scale = 1,
                                      int channels = 3,
                                      const wick::ext::codec& codec = wick::detail::libjpeg_turbo_codec) {
  const auto data = std::as_bytes(std::span(file));
  wick::ext::picture_info info;
  image out;
  const std::string text = message_of([&] {
    if (!codec.probe(data, info)) throw wick::error("not for this decoder");
    out = codec.decode(data, info, {part, scale, channels}).pixels;
    return 0;
  });
  return {std::move(out), text};
}
std::pair<image, std::string> outcome_on_a_new_thread(const std::string& file, const wick::rect& part) {
  std::pair<image, std::string> out;
  std::thread([&] { out = outcome(file, part); }).join();
  return out;
}

/// Without the segments of that marker before the pixels.
std::string without(std::string jpeg, unsigned char marker) {
  for (std::size_t at = 2; static_cast<unsigned char>(jpeg[at + 1]) != 0xDA;) {
    const std::size_t length =
        static_cast<unsigned char>(jpeg[at + 2]) * 256u + static_cast<unsigned char>(jpeg[at + 3]);
    if (static_cast<unsigned char>(jpeg[at + 1]) == marker) {
      jpeg.erase(at, length + 2);
    } else {
      at += length + 2;
    }
  }
  return jpeg;
}

}  // namespace

TEST_CASE("what a JPEG looks like does not depend on the one before") {
  const wick::rect all{0, 0, 64, 48};
  const std::string before = encode_jpeg(photo(64, 48, 3, 1), jpeg_kind{.quality = 20});
  for (const bool progressive : {false, true}) {
    const std::string file =
        encode_jpeg(photo(64, 48, 3, 2), jpeg_kind{.quality = 90, .progressive = progressive});
    for (const unsigned char tables : {0xDB, 0xC4}) {  // quantization, Huffman
      const std::string bare = without(file, tables);
      REQUIRE(bare.size() < file.size());
      const auto alone = outcome_on_a_new_thread(bare, all);
      CHECK(outcome(before, all).second.empty());
      const auto after = outcome(bare, all);
      CHECK(after.second == alone.second);
      CHECK(after.first == alone.first);
    }
    CHECK(contains(outcome(without(file, 0xDB), all).second, "Quantization table 0x00 was not defined"));
  }
}

TEST_CASE("a decompressor that has given memory back, or failed, continues with the next picture") {
  // The first picture of a thread, which has a color converter, needs more than the first block, which is
  // given back with the others. libjpeg-turbo 2.1.5 looks at a color converter of the picture before when
  // rows are skipped while it upsamples and converts at once, which it is set not to do; under valgrind
  // (jpeg/libjpeg_turbo_valgrind) a look at freed memory fails this.
  std::thread([] {
    const std::string large =
        encode_jpeg(photo(900, 700), jpeg_kind{.progressive = true, .across = {1, 1, 1}, .down = {1, 1, 1}});
    const std::string small = encode_jpeg(photo(203, 149, 3, 2), jpeg_kind{}),
                      cut = small.substr(0, small.size() / 2);
    for (int round = 0; round < 3; ++round) {
      CHECK(outcome(large, {0, 0, 900, 700}).second.empty());
      for (const double scale : {1.0, 0.5, 0.25, 0.125})
        CHECK(outcome(small, {60, 70, 100, 60}, scale).second.empty());
      CHECK(contains(outcome(cut, {0, 0, 203, 149}).second, "truncated JPEG"));
      const auto got = outcome(small, {0, 0, 203, 149});
      const auto alone = outcome_on_a_new_thread(small, {0, 0, 203, 149});
      CHECK(got.first == alone.first);
    }
  }).join();
}

TEST_CASE("a part that has a single sample of a color is that part of the whole") {
  for (const std::array<int, 4>& down : {std::array{2, 1, 1, 2}, std::array{1, 1, 1, 1}}) {
    const std::string file = encode_jpeg(photo(18, 40), jpeg_kind{.across = {2, 1, 1, 2}, .down = down});
    const image whole = outcome(file, {0, 0, 18, 40}).first;
    for (int x = 14; x < 18; ++x) {
      CAPTURE(x);
      const image right = outcome(file, {x, 0, 18 - x, 40}).first,
                  left = outcome(file, {0, 0, 18 - x, 40}).first;
      for (int y = 0; y < 40; ++y) {
        const std::uint8_t* const end = right.row(y) + right.width() * 3;
        CHECK(std::equal(end - (18 - x) * 3, end, whole.row(y) + x * 3));
        CHECK(std::equal(whole.row(y), whole.row(y) + (18 - x) * 3, left.row(y)));
      }
    }
  }
}

TEST_CASE("pictures inside of pictures: what takes the rows may decode in its turn") {
  struct nested final : wick::ext::row_sink {
    void begin(const wick::ext::decoded_rows& what) override {
      width = what.width;
      row.resize(static_cast<std::size_t>(what.width * what.channels));
      start = row.data();
    }
    std::span<std::uint8_t* const> room() override { return {&start, 1}; }
    void written(int count) override {
      rows += count;
      if (rows == 5) inner = outcome(file, {0, 0, 64, 48}).first;
    }
    std::string file;
    image inner;
    std::vector<std::uint8_t> row;
    std::uint8_t* start = nullptr;
    int rows = 0, width = 0;
  } sink;
  sink.file = encode_jpeg(photo(64, 48, 3, 2), jpeg_kind{});
  const std::string outer = encode_jpeg(photo(100, 80), jpeg_kind{});
  const auto data = std::as_bytes(std::span(outer));
  wick::ext::picture_info info;
  REQUIRE(wick::detail::libjpeg_turbo_codec.probe(data, info));
  wick::detail::libjpeg_turbo_codec.decode_rows(data, info, {{0, 0, 100, 80}, 1, 3}, sink);
  CHECK(sink.rows == 80);
  CHECK(sink.inner == outcome(sink.file, {0, 0, 64, 48}).first);
}

TEST_CASE("a lossless JPEG, and one wider than libjpeg takes, are known by their header") {
  std::string lossless = encode_jpeg(photo(16, 16), jpeg_kind{});
  lossless[lossless.find("\xFF\xC0") + 1] = '\xC3';
  CHECK(contains(outcome(lossless, {0, 0, 16, 16}).second, "lossless", "convert it"));
  const std::string wide = encode_jpeg(photo(65535, 1));
  CHECK(outcome(wide, {0, 0, 1, 1}).second == "not for this decoder");
}

#endif

}  // namespace wick_test::libjpeg_turbo_tests
