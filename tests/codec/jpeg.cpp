// wick's own decoder of JPEGs, beside libjpeg-turbo.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/jpeg_writer.hpp"
#include "../support/message_of.hpp"
#include "../support/picture.hpp"
#include <wick/codec/detail/jpeg.hpp>
#include <wick/codec/detail/jpeg_frame.hpp>
#include <wick/codec/detail/jpeg_kernels.hpp>
#include <wick/codec/detail/libjpeg_turbo.hpp>
#include <wick/ext/codec.hpp>

namespace wick_test::jpeg_tests {

using wick::image;
using wick::detail::jpeg_kernels, wick::rect;

TEST_CASE("every set of the JPEG decoder's loops gives the same bytes, for values out of range, too") {
  std::mt19937_64 random(1);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  const auto sets = wick::detail::available_jpeg_kernels();
  const jpeg_kernels& plain = *sets[0];
  CHECK(plain.name == "portable");
  constexpr std::size_t stride = 80, slack = wick::detail::jpeg_slack;
  for (int round = 0; round < 4000; ++round) {
    CAPTURE(round);
    const std::size_t count = 1 + below(9), kind = below(4);
    std::vector<std::int16_t> blocks(64 * count), table(64);
    for (auto& q : table) q = static_cast<std::int16_t>(kind == 3 ? random() : 1 + below(60));
    for (std::size_t b = 0; b < count; ++b) {
      std::int16_t* const block = blocks.data() + 64 * b;
      block[0] = static_cast<std::int16_t>(below(2000) - 1000);
      const std::size_t values = std::array{0, 3, 20, 64}[below(4)];
      const bool corner = below(2) == 0;  // low frequencies alone
      for (std::size_t i = 0; i < values; ++i)
        block[corner ? 8 * below(4) + below(4) : below(64)] =
            static_cast<std::int16_t>(kind >= 2 ? random() : below(101) - 50);
      if (below(4) == 0) {  // values in the first row alone
        for (std::size_t i = 0; i < 64; ++i) block[i] = static_cast<std::int16_t>(i < 8 ? random() : 0);
      }
    }
    const std::size_t n = below(200);
    std::vector<std::uint8_t> rows[3];
    for (auto& row : rows) {
      row.resize(n + 2 * slack);
      for (auto& v : row) v = static_cast<std::uint8_t>(random());
    }
    const auto all_of = [&](const jpeg_kernels& set) {
      std::vector<std::uint8_t> out[6];
      out[0].assign(8 * stride, 7);
      set.to_8(blocks.data(), count, table.data(), out[0].data(), stride);
      out[1].assign(4 * stride, 7);
      set.to_4(blocks.data(), count, table.data(), out[1].data(), stride);
      out[2].resize(2 * n + slack);
      set.widen(rows[0].data() + slack, out[2].data(), n);
      out[2].resize(2 * n);
      out[3].resize(2 * n + slack);
      set.widen_between(rows[0].data() + slack, rows[1].data() + slack, out[3].data(), n);
      out[3].resize(2 * n);
      out[4].assign(3 * n + 8, 9);  // exactly 3 n are written
      set.to_rgb(rows[0].data(), rows[1].data(), rows[2].data(), out[4].data(), n);
      out[5].assign(2 * stride, 7);
      set.to_2(blocks.data(), count, table.data(), out[5].data(), stride);
      return std::vector<std::vector<std::uint8_t>>(std::begin(out), std::end(out));
    };
    const auto expected = all_of(plain);
    CHECK(expected[4].back() == 9);
    for (const jpeg_kernels* set : sets.subspan(1)) {
      CAPTURE(set->name);
      const auto got = all_of(*set);
      for (std::size_t i = 0; i < got.size(); ++i) {
        CAPTURE(i);
        REQUIRE(got[i] == expected[i]);
      }
    }
  }
}

#ifdef WICK_TEST_LIBJPEG_TURBO

namespace {

/// What a decoder says of a part: its pixels without what it gives beyond, or the error's text.
std::pair<image, std::string> outcome(const wick::ext::codec& codec, const std::string& file,
                                      const rect& part, double scale = 1, int channels = 3) {
  const auto data = std::as_bytes(std::span(file));
  wick::ext::picture_info info;
  image out;
  const std::string text = message_of([&] {
    if (!codec.probe(data, info)) throw wick::error("not for this decoder");
    const wick::ext::decoded_picture got = codec.decode(data, info, {part, scale, channels});
    const double s = got.scale;
    const auto up = [](double v) { return static_cast<int>(v) + (v > static_cast<int>(v) ? 1 : 0); };
    const int left = static_cast<int>(part.x * s), top = static_cast<int>(part.y * s);
    const int right = std::min(up((part.x + part.width) * s), up(static_cast<double>(info.width) * s)),
              bottom = std::min(up((part.y + part.height) * s), up(static_cast<double>(info.height) * s));
    out = image(right - left, bottom - top, channels);
    for (int y = top; y < bottom; ++y) {
      const int x = left - static_cast<int>(got.left * s), row = y - static_cast<int>(got.top * s);
      REQUIRE(x >= 0);
      REQUIRE(row >= 0);
      REQUIRE(x + out.width() <= got.pixels.width());
      REQUIRE(row < got.pixels.height());
      std::copy_n(got.pixels.row(row) + x * channels, out.width() * channels, out.row(y - top));
    }
    return 0;
  });
  return {std::move(out), text};
}

bool is_own(const std::string& file) {
  return wick::detail::jpeg_frame::read(std::as_bytes(std::span(file))).has_value();
}

/// Bytes changed, gone, more, or made to markers; after the scan's header, or anywhere.
template <class Below>
void damage(std::string& file, Below below, std::mt19937_64& random) {
  const std::size_t scan = file.find("\xFF\xDA"), from = below(8) == 0 ? 2 : scan + 14;
  for (std::size_t n = 1 + below(3); n > 0 && file.size() > from + 2; --n) {
    const std::size_t at = from + below(file.size() - 2 - from);
    switch (below(5)) {
      case 0:
        file.erase(at, 1 + below(4));
        break;
      case 1:
        file.insert(at, 1 + below(4), static_cast<char>(random()));
        break;
      case 2:
        file[at] = '\xFF';
        break;
      case 3:
        file.insert(at, {'\xFF', static_cast<char>(0xD0 + below(10))});
        break;
      default:
        file[at] = static_cast<char>(file[at] ^ 1 << below(8));
    }
  }
}

}  // namespace

TEST_CASE(
    "files of random kinds, sizes and qualities are to wick what they are to libjpeg-turbo, damaged or not") {
  // WICK_JPEG_FILES: how many, nightly 100,000.
  const char* const wish = std::getenv("WICK_JPEG_FILES");
  const int files = wish == nullptr ? 2000 : std::atoi(wish);
  std::mt19937_64 random(1);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  const std::array<int, 4> across[] = {{1, 1, 1, 1}, {2, 1, 1, 2}, {2, 1, 1, 2}, {1, 1, 1, 1}, {4, 1, 1, 4}},
                           down[] = {{1, 1, 1, 1}, {1, 1, 1, 1}, {2, 1, 1, 2}, {2, 1, 1, 2}, {1, 1, 1, 1}};
  int damaged = 0, failed = 0, own = 0;
  for (int round = 0; round < files; ++round) {
    CAPTURE(round);
    const int channels = std::array{1, 3, 3, 3, 3, 4}[below(6)];
    const std::size_t most = below(4) == 0 ? 20 : below(8) == 0 ? 700 : 150;
    const int width = 1 + static_cast<int>(below(most)), height = 1 + static_cast<int>(below(most));
    const std::size_t sampling = below(5);
    jpeg_kind kind{.quality = 1 + static_cast<int>(below(100)),
                   .progressive = below(16) == 0,
                   .colors = below(8) != 0 ? jpeg_colors::ycc : jpeg_colors::as_given,
                   .restart_blocks = below(3) == 0 ? 1 + static_cast<unsigned>(below(9)) : 0,
                   .one_scan_each = below(16) == 0};
    if (kind.colors == jpeg_colors::ycc) kind.across = across[sampling], kind.down = down[sampling];
    std::string file = encode_jpeg(photo(width, height, channels, static_cast<std::uint64_t>(round)), kind);
    if (round % 3 == 0) {
      ++damaged;
      damage(file, below, random);
    }
    const int x = static_cast<int>(below(static_cast<std::size_t>(width))),
              y = static_cast<int>(below(static_cast<std::size_t>(height)));
    rect part{0, 0, width, height};
    if (below(4) != 0)
      part = {x, y, 1 + static_cast<int>(below(static_cast<std::size_t>(width - x))),
              1 + static_cast<int>(below(static_cast<std::size_t>(height - y)))};
    const double scale = std::array{1.0, 1.0, 0.5, 0.25, 0.125}[below(5)];
    const int wanted = std::array{1, 2, 3, 3, 4}[below(5)];
    if (!is_own(file)) continue;
    ++own;
    const auto here = outcome(wick::detail::jpeg_codec, file, part, scale, wanted),
               there = outcome(wick::detail::libjpeg_turbo_codec, file, part, scale, wanted);
    CAPTURE(width);
    CAPTURE(height);
    CAPTURE(kind.restart_blocks);
    CAPTURE(sampling);
    CAPTURE(scale);
    CAPTURE(wanted);
    REQUIRE(here.second == there.second);
    REQUIRE(here.first == there.first);
    failed += here.second.empty() ? 0 : 1;
  }
  CHECK(own > files / 2);
  CHECK(failed < damaged / 2);  // most of them are read to the end
}

TEST_CASE("wick decodes what is baseline, and leaves other kinds to the next decoder") {
  const auto own = [](const jpeg_kind& kind, int channels = 3) {
    return is_own(encode_jpeg(photo(40, 30, channels), kind));
  };
  for (const std::array<int, 4>& across : {std::array{1, 1, 1, 1}, std::array{2, 1, 1, 2}}) {
    for (const std::array<int, 4>& down : {std::array{1, 1, 1, 1}, std::array{2, 1, 1, 2}}) {
      for (const unsigned restart : {0u, 3u})
        CHECK(own({.across = across, .down = down, .restart_blocks = restart}));
    }
  }
  CHECK(own({}, 1));
  CHECK_FALSE(own({.across = {4, 1, 1, 4}, .down = {1, 1, 1, 1}}));
  CHECK_FALSE(own({.progressive = true}));
  CHECK_FALSE(own({.one_scan_each = true}));
  CHECK_FALSE(own({.arithmetic = true}));
  CHECK_FALSE(own({.colors = jpeg_colors::as_given, .across = {1, 1, 1, 1}, .down = {1, 1, 1, 1}}));
  CHECK_FALSE(own({}, 4));
}

TEST_CASE("a header with a marker that is none of a baseline JPEG is to wick what it is to libjpeg-turbo") {
  const std::string good = encode_jpeg(photo(40, 30), jpeg_kind{});
  int refused = 0;
  for (int n = 0; n < 4 * 254; ++n) {
    const int marker = 1 + n / 4, length = std::array{0, 1, 2, 4}[static_cast<std::size_t>(n % 4)];
    CAPTURE(marker);
    CAPTURE(length);
    std::string file = good;
    file.insert(2, {'\xFF', static_cast<char>(marker), '\0', static_cast<char>(length)});
    if (length == 4) file.insert(6, {'\1', '\2'});
    std::string here, there;
    for (const auto& [codec, text] : {std::pair{&wick::detail::jpeg_codec, &here},
                                      std::pair{&wick::detail::libjpeg_turbo_codec, &there}}) {
      *text = message_of([&] {
        wick::ext::picture_info info;
        const auto data = std::as_bytes(std::span(file));
        // As codecs() asks: the next decoder where this one does not take it.
        const bool takes = codec->probe(data, info);
        const wick::ext::codec& by = takes ? *codec : wick::detail::libjpeg_turbo_codec;
        if (!takes) by.probe(data, info);
        return by.decode(data, info, {{0, 0, 40, 30}, 1, 3}).pixels;
      });
    }
    CHECK(here == there);
    refused += here.empty() ? 0 : 1;
  }
  CHECK(refused > 100);
}

TEST_CASE("a Huffman table with a code of ones alone is as bad to wick as to libjpeg-turbo") {
  // 8 x 8 gray pixels. For DC there are one or two codes of one bit, 0 and 1; for AC one, "no other
  // frequency".
  const auto file_with = [](char codes, const std::string& values) {
    std::string out("\xFF\xD8\xFF\xDB\x00\x43\x00", 7);
    out.append(64, '\x01');
    out.append("\xFF\xC0\x00\x0B\x08\x00\x08\x00\x08\x01\x01\x11\x00", 13);
    out.append("\xFF\xC4\x00", 3);
    out += static_cast<char>(19 + values.size());
    out += '\x00';
    out += codes;
    out.append(15, '\x00');
    out += values;
    out.append("\xFF\xC4\x00\x14\x10\x01", 6);
    out.append(16, '\x00');
    out.append("\xFF\xDA\x00\x08\x01\x01\x00\x00\x3F\x00", 10);
    return out.append("\x3F\xFF\xD9", 3);
  };
  const std::string good = file_with(1, std::string(1, '\0')), bad = file_with(2, std::string("\0\1", 2));
  for (const bool is_good : {true, false}) {
    const std::string& file = is_good ? good : bad;
    const auto here = outcome(wick::detail::jpeg_codec, file, {0, 0, 8, 8}),
               there = outcome(wick::detail::libjpeg_turbo_codec, file, {0, 0, 8, 8});
    CHECK(here.second == there.second);
    CHECK(here.first == there.first);
    CHECK(here.second.empty() == is_good);
  }
}

TEST_CASE("a JPEG that ends without a marker ends at the same byte for both decoders") {
  const std::string file = encode_jpeg(photo(40, 30), jpeg_kind{});
  const rect all{0, 0, 40, 30}, top{3, 0, 20, 16};
  int read = 0;
  for (std::size_t size = file.size() - 60; size < file.size(); ++size) {
    CAPTURE(size);
    for (const std::string& more :
         {std::string(), std::string("\xFF"), std::string("\xFF\xFF"), std::string(3, '\0')}) {
      const std::string cut = file.substr(0, size) + more;
      for (const rect& part : {all, top}) {
        const auto here = outcome(wick::detail::jpeg_codec, cut, part),
                   there = outcome(wick::detail::libjpeg_turbo_codec, cut, part);
        CHECK(here.second == there.second);
        CHECK(here.first == there.first);
        if (here.second.empty()) ++read;
      }
    }
  }
  CHECK(read > 0);
  CHECK(read < 480);
}

#endif

}  // namespace wick_test::jpeg_tests
