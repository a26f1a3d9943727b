#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "../support/picture.hpp"
#include "../support/pillow.hpp"
#include <wick/codec/detail/stb.hpp>

namespace wick_test::stb_tests {

using wick::image;

namespace {

std::span<const std::byte> span_of(const std::string& s) {
  return std::as_bytes(std::span(s.data(), s.size()));
}

/// As stb_image's codec sees it, whichever others there are.
wick::ext::picture_info probed(const std::string& encoded) {
  wick::ext::picture_info info;
  if (!wick::detail::stb_codec.probe(span_of(encoded), info)) throw wick::error("no picture");
  return info;
}

void check_whole(const std::string& encoded) {
  wick::detail::stb_codec.check_complete(span_of(encoded), probed(encoded));
}

image decoded(const std::string& encoded, int channels) {
  check_whole(encoded);
  const wick::ext::picture_info info = probed(encoded);
  const wick::rect whole{0, 0, static_cast<int>(info.width), static_cast<int>(info.height)};
  return wick::detail::stb_codec.decode(span_of(encoded), info, {whole, 1.0, channels}).pixels;
}

// 24 x 16, red = 10 x, green = 15 y, blue = 6 (x + y), written by Pillow at quality 50.
const char progressive[] =
    "\xff\xd8\xff\xe0\x00\x10\x4a\x46\x49\x46\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00\xff\xdb\x00\x43\x00\x10"
    "\x0b\x0c"
    "\x0e\x0c\x0a\x10\x0e\x0d\x0e\x12\x11\x10\x13\x18\x28\x1a\x18\x16\x16\x18\x31\x23\x25\x1d\x28\x3a\x33\x3d"
    "\x3c\x39"
    "\x33\x38\x37\x40\x48\x5c\x4e\x40\x44\x57\x45\x37\x38\x50\x6d\x51\x57\x5f\x62\x67\x68\x67\x3e\x4d\x71\x79"
    "\x70\x64"
    "\x78\x5c\x65\x67\x63\xff\xdb\x00\x43\x01\x11\x12\x12\x18\x15\x18\x2f\x1a\x1a\x2f\x63\x42\x38\x42\x63\x63"
    "\x63\x63"
    "\x63\x63\x63\x63\x63\x63\x63\x63\x63\x63\x63\x63\x63\x63\x63\x63\x63\x63\x63\x63\x63\x63\x63\x63\x63\x63"
    "\x63\x63"
    "\x63\x63\x63\x63\x63\x63\x63\x63\x63\x63\x63\x63\x63\x63\x63\x63\x63\x63\xff\xc2\x00\x11\x08\x00\x10\x00"
    "\x18\x03"
    "\x01\x22\x00\x02\x11\x01\x03\x11\x01\xff\xc4\x00\x16\x00\x01\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00"
    "\x00\x00"
    "\x00\x00\x04\x00\x05\xff\xc4\x00\x16\x01\x01\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
    "\x03\x01"
    "\x04\xff\xda\x00\x0c\x03\x01\x00\x02\x10\x03\x10\x00\x00\x01\xca\x42\xd1\x0c\x76\x9c\x9b\xbf\xff\xc4\x00"
    "\x16\x10"
    "\x00\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x02\xff\xda\x00\x08\x01\x01\x00"
    "\x01\x05"
    "\x02\x50\x28\x14\x0a\x05\x02\x83\xff\xc4\x00\x17\x11\x00\x03\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
    "\x00\x00"
    "\x00\x00\x02\x03\x21\xff\xda\x00\x08\x01\x03\x01\x01\x3f\x01\x9d\xc5\xbe\x1f\xff\xc4\x00\x17\x11\x01\x00"
    "\x03\x00"
    "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x02\x12\xff\xda\x00\x08\x01\x02\x01\x01\x3f\x01"
    "\x8b\x34"
    "\xff\xc4\x00\x14\x10\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x20\xff\xda\x00\x08"
    "\x01\x01"
    "\x00\x06\x3f\x02\x5f\xff\xc4\x00\x14\x10\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
    "\x20\xff"
    "\xda\x00\x08\x01\x01\x00\x01\x3f\x21\x5f\xff\x00\xff\xda\x00\x0c\x03\x01\x00\x02\x00\x03\x00\x00\x00\x10"
    "\xa0\x1f"
    "\xff\xc4\x00\x16\x11\x01\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x51\x61\xff\xda"
    "\x00\x08"
    "\x01\x03\x01\x01\x3f\x10\xd9\x43\xff\xc4\x00\x16\x11\x01\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
    "\x00\x00"
    "\x00\x00\x01\x21\xff\xda\x00\x08\x01\x02\x01\x01\x3f\x10\x53\x0f\xff\xc4\x00\x15\x10\x01\x01\x00\x00\x00"
    "\x00\x00"
    "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x61\xff\xda\x00\x08\x01\x01\x00\x01\x3f\x10\x82\x08\x20\x82\x0f"
    "\xff\xd9";
const char cmyk[] =
    "\xff\xd8\xff\xee\x00\x0e\x41\x64\x6f\x62\x65\x00\x64\x00\x00\x00\x00\x00\xff\xdb\x00\x43\x00\x10\x0b\x0c"
    "\x0e\x0c"
    "\x0a\x10\x0e\x0d\x0e\x12\x11\x10\x13\x18\x28\x1a\x18\x16\x16\x18\x31\x23\x25\x1d\x28\x3a\x33\x3d\x3c\x39"
    "\x33\x38"
    "\x37\x40\x48\x5c\x4e\x40\x44\x57\x45\x37\x38\x50\x6d\x51\x57\x5f\x62\x67\x68\x67\x3e\x4d\x71\x79\x70\x64"
    "\x78\x5c"
    "\x65\x67\x63\xff\xc0\x00\x14\x08\x00\x10\x00\x18\x04\x43\x11\x00\x4d\x11\x00\x59\x11\x00\x4b\x11\x00\xff"
    "\xc4\x00"
    "\x17\x00\x01\x01\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x06\x05\x07\xff\xc4\x00\x1b"
    "\x10\x00"
    "\x02\x01\x05\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x04\x05\x15\x21\x31\x41\x62\xff\xda\x00"
    "\x0e\x04"
    "\x43\x00\x4d\x00\x59\x00\x4b\x00\x00\x3f\x00\x90\x8e\xd1\x33\x48\xe4\x94\x55\x6c\x58\xe8\x05\x44\x76\x85"
    "\x23\x93"
    "\x61\x55\xb1\x60\x54\xc7\x68\x52\x39\x36\x15\x5b\x16\x07\x2e\x8e\xd1\x79\x48\xe4\xc7\x55\x6c\x58\x15\x11"
    "\xda\x14"
    "\x8e\x4d\x85\x56\xc5\x81\x53\x1d\xa1\x48\xe4\xd8\x55\x6c\x58\x1f\xff\xd9";

}  // namespace

TEST_CASE("PNG and BMP come back as they were written, JPEG and GIF nearly or exactly") {
  for (const int channels : {1, 3, 4}) {
    const image p = photo(37, 23, channels);
    CHECK(decoded(encode_png(p), channels) == p);
  }
  CHECK(decoded(encode_png(photo(37, 23, 2)), 2) == photo(37, 23, 2));
  CHECK(decoded(encode_bmp(photo(37, 23)), 3) == photo(37, 23));
  CHECK(decoded(encode_gif(photo(37, 23, 1)), 1) == photo(37, 23, 1));
  const difference d = compare(decoded(encode_jpeg(photo(64, 48), 98), 3), photo(64, 48));
  CHECK(d.mean < 6);
}

TEST_CASE("a progressive and a CMYK JPEG are read") {
  for (const std::string& file :
       {std::string(progressive, sizeof progressive - 1), std::string(cmyk, sizeof cmyk - 1)}) {
    const image p = decoded(file, 3);
    REQUIRE(p.width() == 24);
    REQUIRE(p.height() == 16);
    double error = 0;
    for (int y = 0; y < 16; ++y) {
      for (int x = 0; x < 24; ++x) {
        error += std::abs(p.row(y)[x * 3] - 10 * x) + std::abs(p.row(y)[x * 3 + 1] - 15 * y) +
                 std::abs(p.row(y)[x * 3 + 2] - 6 * (x + y));
      }
    }
    CHECK(error / (16 * 24 * 3) < 12);
  }
}

TEST_CASE("the header tells format, size and channels before any pixel is decoded") {
  const auto info = [](const std::string& s) { return wick::ext::codecs().probe(span_of(s)); };
  CHECK(info(encode_jpeg(photo(37, 23))).format == "JPEG");
  CHECK(info(encode_jpeg(photo(37, 23))).width == 37);
  CHECK(info(encode_jpeg(photo(37, 23))).height == 23);
  CHECK(info(encode_jpeg(photo(37, 23, 1))).channels == 3);  // stb writes gray as color
  for (int channels = 1; channels <= 4; ++channels)
    CHECK(info(encode_png(photo(9, 7, channels))).channels == channels);
  CHECK(info(encode_bmp(photo(37, 23))).height == 23);
  CHECK(info(encode_gif(photo(37, 23, 1))).width == 37);
  CHECK(info(std::string(progressive, sizeof progressive - 1)).width == 24);
}

TEST_CASE("a BMP of OS/2 has all of its palette's colors, and a fourth byte without a name is no alpha") {
  const auto little32 = [](int v) {
    std::string out;
    for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(v >> shift & 255);
    return out;
  };
  for (const int bits : {1, 4, 8}) {
    CAPTURE(bits);
    const int colors = 1 << bits, start = 26 + 3 * colors;
    for (const int stored : {colors, (colors + 1) / 2}) {  // the short palette of some writers, too
      const int at = start - 3 * (colors - stored);
      std::string file = "BM" + little32(0) + little32(0) + little32(at) + little32(12);
      file += std::string("\x08\0\x02\0\x01\0", 6) + static_cast<char>(bits) + '\0';
      for (int i = 0; i < stored; ++i)
        file += {static_cast<char>(i), static_cast<char>(255 - i), static_cast<char>(7 * i)};
      for (int row = 0; row < 2; ++row) {
        std::string line;
        for (int x = 0; x < 8; ++x) {  // the last colors
          const unsigned n = static_cast<unsigned>(std::max(stored - 1 - x, 0));
          if (x * bits % 8 == 0) line += '\0';
          line.back() =
              static_cast<char>(static_cast<unsigned char>(line.back()) | n << (8 - bits - x * bits % 8));
        }
        file += line + std::string((4 - line.size() % 4) % 4, '\0');
      }
      const image got = decoded(file, 3);
      for (int x = 0; x < 8; ++x) {
        const int n = std::max(stored - 1 - x, 0);
        CHECK(got.row(0)[3 * x] == (7 * n & 255));
        CHECK(got.row(0)[3 * x + 1] == 255 - n);
        CHECK(got.row(1)[3 * x + 2] == n);
      }
    }
  }
  std::string file =
      "BM" + little32(0) + little32(0) + little32(54) + little32(40) + little32(1) + little32(1);
  file += std::string("\x01\0\x20\0", 4) + std::string(24, '\0') + "\x01\x02\x03\x40";
  const image got = decoded(file, 4);
  CHECK(got.data()[0] == 3);
  CHECK(got.data()[3] == 255);
}

namespace {

/// So that what reads the stack before it is written gets something else each time.
[[gnu::noinline]] void paint_stack(unsigned char with) {
  volatile unsigned char some[100'000];
  for (std::size_t i = 0; i < sizeof some; ++i) some[i] = with;
}

}  // namespace

TEST_CASE("a color that a BMP's palette leaves out is black, and not what lay in memory") {
  const auto little32 = [](int v) {
    std::string out;
    for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(v >> shift & 255);
    return out;
  };
  for (const int header : {40, 56, 108}) {
    for (const int bits : {1, 4, 8}) {
      for (const int stored : {0, 1, (1 << bits) - 1, 1 << bits}) {
        CAPTURE(header);
        CAPTURE(bits);
        CAPTURE(stored);
        std::string file = "BM" + little32(0) + little32(0) + little32(14 + header + 4 * stored) +
                           little32(header) + little32(4) + little32(-1) + std::string("\x01\0", 2) +
                           static_cast<char>(bits) + '\0';
        file.resize(static_cast<std::size_t>(14 + header));
        for (int i = 0; i < stored; ++i) file += {'\x50', '\x60', '\x70', '\0'};
        file += std::string(4, '\xFF');  // the last color, four times
        const int expected = stored == 1 << bits ? 0x70 : 0;
        for (const unsigned char paint : {0xAB, 0x17}) {
          paint_stack(paint);
          const image got = decoded(file, 3);
          for (int x = 0; x < 4; ++x) CHECK(got.row(0)[3 * x] == expected);
        }
      }
    }
  }
}

namespace {

std::string little32(std::uint32_t v) {
  std::string out;
  for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(v >> shift & 255);
  return out;
}

/// \param rows  the numbers of colors of 13 x 9 pixels, from the bottom up
std::string bmp_of(int bits, int compression, const std::string& pixels, std::size_t gap = 0,
                   std::size_t colors = 256) {
  const std::size_t stored = bits > 8 ? 0 : std::min(colors, std::size_t{1} << bits);
  const std::size_t start = 54 + 4 * stored + gap;
  std::string out = "BM" + little32(static_cast<std::uint32_t>(start + pixels.size())) + little32(0) +
                    little32(static_cast<std::uint32_t>(start)) + little32(40) + little32(13) + little32(9) +
                    std::string("\x01\0", 2) + static_cast<char>(bits) + '\0' +
                    little32(static_cast<std::uint32_t>(compression)) +
                    little32(static_cast<std::uint32_t>(pixels.size())) + little32(0) + little32(0) +
                    little32(static_cast<std::uint32_t>(stored)) + little32(0);
  for (std::size_t i = 0; i < stored; ++i)
    out += {static_cast<char>(i * 7), static_cast<char>(255 - i), static_cast<char>(i), '\0'};
  return out + std::string(gap, '\x5A') + pixels;
}

}  // namespace

TEST_CASE("a BMP in run lengths, or with a gap before its pixels, is what Pillow reads") {
  pillow with;
  std::vector<std::string> files;
  std::mt19937 random(3);
  const auto below = [&](unsigned n) { return random() % n; };
  for (const int bits : {4, 8}) {
    for (int round = 0; round < 20; ++round) {
      std::string codes;
      const std::size_t colors = bits == 8 && round % 3 == 0 ? 200 : 256;
      const auto number = [&] { return static_cast<char>(below(static_cast<unsigned>(colors))); };
      for (unsigned y = 0; y < 9; ++y) {
        for (unsigned x = 0; x < 13;) {
          const unsigned left = 13 - x, n = 1 + below(left);
          // Colors as they are; of RLE4 an even number, since Pillow (12.0) reads others wrong.
          if (n >= 3 && (bits == 8 || n % 2 == 0) && below(2) == 0) {
            codes += {'\0', static_cast<char>(n)};
            std::string as_is;
            for (unsigned i = 0; i < (n * static_cast<unsigned>(bits) + 7) / 8; ++i) as_is += number();
            codes += as_is + std::string(as_is.size() % 2, '\0');
          } else {
            codes += {static_cast<char>(n), number()};
          }
          x += n;
          if (round % 4 == 1 && below(4) == 0) break;  // the rest of the row is left out
        }
        codes += std::string("\0\0", 2);
      }
      if (round % 4 != 3) codes += std::string("\0\x01", 2);
      files.push_back(bmp_of(bits, bits == 8 ? 1 : 2, codes, round % 2 == 0 ? 0 : 6, colors));
    }
  }
  for (const int bits : {1, 4, 8, 16, 24, 32}) {
    for (const std::size_t gap : {0u, 2u, 16u, 68u, 1024u, 5000u}) {
      std::string pixels(static_cast<std::size_t>((13 * bits + 31) / 32 * 4 * 9), '\0');
      for (char& c : pixels) c = static_cast<char>(below(256));
      files.push_back(bmp_of(bits, 0, pixels, gap));
    }
  }
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string name = with.write("bmp" + std::to_string(i), files[i]);
    with.job("load " + name + " " + name + "_pixels RGB");
  }
  if (!with.run()) return;
  for (std::size_t i = 0; i < files.size(); ++i) {
    CAPTURE(i);
    const image got = decoded(files[i], 3),
                expected = with.pixels("bmp" + std::to_string(i) + "_pixels", 13, 9, 3);
    int greatest = 0;
    for (std::size_t p = 0; p < got.pixels().size(); ++p)
      greatest = std::max(greatest, std::abs(got.pixels()[p] - expected.pixels()[p]));
    CHECK(greatest <= (files[i][28] == 16 ? 1 : 0));  // stb_image rounds levels of 5 bits in another way
  }
  // What Pillow reads wrong: an odd number of colors as they are, and a step to another place.
  const image odd = decoded(bmp_of(4, 2,
                                   std::string("\0\x05\x12\x34\x50\0\x08\x67", 8) +
                                       std::string("\0\0\0\x02\x03\x06\x02\x99\0\x01", 10)),
                            3);
  for (int x = 0; x < 13; ++x) {
    CHECK(odd.row(8)[3 * x] == (x < 5 ? x + 1 : 6 + (x - 5) % 2));
    CHECK(odd.row(7)[3 * x] == 0);
    CHECK(odd.row(1)[3 * x] == (x == 3 || x == 4 ? 9 : 0));
  }
  for (std::size_t i : {0u, 3u, 20u}) {
    for (std::size_t size = 54; size + 30 < files[i].size(); size += 3) {
      const std::string text = message_of([&] { return decoded(files[i].substr(0, size), 3), 0; });
      CHECK(contains(text, "truncated BMP"));
    }
  }
}

TEST_CASE("a BMP of a kind that isn't supported says which") {
  const auto message = [](int bits, int compression) {
    return message_of([&] { return decoded(bmp_of(bits, compression, std::string(1000, 'x')), 3), 0; });
  };
  CHECK(contains(message(24, 4), "BMP with a JPEG inside", "convert it to PNG"));
  CHECK(contains(message(24, 5), "BMP with a PNG inside"));
  CHECK(contains(message(32, 6), "BMP with compression 6 of 32 bits"));
  CHECK(contains(message(4, 1), "BMP with compression 1 of 4 bits"));
}

TEST_CASE("16-bit PNGs keep their high byte, where a decoder is asked for 8") {
  png_parts parts{.width = 2, .height = 1, .bits = 16, .color_type = 2};
  parts.rows = {0x12, 0xFF, 0x80, 0x00, 0xFF, 0xFF, 0x00, 0xFF, 0x7F, 0x10, 0x01, 0x00};
  const image p = decoded(make_png(parts), 3);
  const std::uint8_t expected[] = {0x12, 0x80, 0xFF, 0x00, 0x7F, 0x01};
  CHECK(std::memcmp(p.data(), expected, 6) == 0);
  parts = {.width = 3, .height = 1, .bits = 16, .color_type = 0};
  parts.rows = {0x00, 0x80, 0x80, 0x7F, 0xFF, 0x00};
  const image gray = decoded(make_png(parts), 1);
  CHECK(gray.data()[0] == 0x00);
  CHECK(gray.data()[1] == 0x80);
  CHECK(gray.data()[2] == 0xFF);
}

TEST_CASE("palettes of 1, 2, 4 and 8 bits are looked up, and transparency does not touch the colors") {
  for (const int bits : {1, 2, 4, 8}) {
    png_parts parts{.width = 3, .height = 2, .bits = bits, .color_type = 3};
    parts.palette = {10, 20, 30, 200, 100, 50};
    // pixels 0 1 0 / 1 1 0
    if (bits == 8) parts.rows = {0, 1, 0, 1, 1, 0};
    if (bits == 4) parts.rows = {0x01, 0x00, 0x11, 0x00};
    if (bits == 2) parts.rows = {0x10, 0x50};
    if (bits == 1) parts.rows = {0x40, 0xC0};
    const std::uint8_t expected[] = {10,  20,  30, 200, 100, 50, 10, 20, 30,
                                     200, 100, 50, 200, 100, 50, 10, 20, 30};
    CHECK(std::memcmp(decoded(make_png(parts), 3).data(), expected, 18) == 0);
    parts.transparency = {0};
    const std::string file = make_png(parts);
    CHECK(wick::ext::codecs().probe(span_of(file)).channels == 4);
    CHECK(std::memcmp(decoded(file, 3).data(), expected, 18) == 0);
    CHECK(decoded(file, 4).data()[3] == 0);
    CHECK(decoded(file, 4).data()[7] == 255);
  }
}

TEST_CASE("gray is Pillow's convert(\"L\"), alpha is dropped and not blended") {
  const image p = photo(20, 10, 4);
  const std::string file = encode_png(p);
  const image gray = decoded(file, 1), rgb = decoded(file, 3);
  for (int i = 0; i < 200; ++i) {
    const std::uint8_t* v = p.data() + i * 4;
    CHECK(gray.data()[i] == (v[0] * 19595 + v[1] * 38470 + v[2] * 7471 + 32768) / 65536);
    CHECK(std::memcmp(rgb.data() + i * 3, v, 3) == 0);
  }
  const image from_gray = decoded(encode_png(photo(20, 10, 2)), 3);
  CHECK(from_gray.data()[0] == photo(20, 10, 2).data()[0]);
  CHECK(from_gray.data()[2] == photo(20, 10, 2).data()[0]);
}

TEST_CASE("a JPEG cut anywhere is an error that says so") {
  const std::string whole = encode_jpeg(photo(64, 48));
  for (std::size_t n = 2; n < whole.size(); n += n < 700 ? 7 : 97) {
    const std::string text = message_of([&] { return check_whole(whole.substr(0, n)), 0; });
    CAPTURE(n);
    CHECK(contains(text, "truncated JPEG", std::to_string(n) + " bytes"));
  }
  CHECK(contains(message_of([&] { return check_whole(whole.substr(0, whole.size() - 2)), 0; }),
                 "end-of-image"));
}

TEST_CASE("what follows a JPEG's end, and a thumbnail inside it, are ignored") {
  const std::string whole = encode_jpeg(photo(64, 48)), thumbnail = encode_jpeg(photo(16, 12));
  check_whole(whole + "some garbage of a camera");
  check_whole(whole + std::string(1000, '\0'));
  const std::string exif = with_jpeg_segment(whole, 0xE1, std::string("Exif\0\0", 6) + thumbnail);
  check_whole(exif);
  CHECK(wick::ext::codecs().probe(span_of(exif)).width == 64);
  CHECK(decoded(exif, 3) == decoded(whole, 3));
  // The thumbnail's end-of-image must not count as the picture's.
  CHECK(contains(message_of([&] { return check_whole(exif.substr(0, exif.size() - 40)), 0; }),
                 "truncated JPEG"));
  CHECK(
      contains(message_of([&] { return check_whole(exif.substr(0, 100)), 0; }), "truncated JPEG", "header"));
  // Fill bytes before a marker are allowed.
  check_whole(whole.substr(0, 2) + "\xFF\xFF" + whole.substr(2));
}

TEST_CASE("a PNG cut anywhere is an error, and so is one flipped bit in what matters") {
  const std::string whole = encode_png(photo(40, 30));
  for (std::size_t n = 8; n < whole.size(); n += n < 60 ? 1 : 113) {
    CAPTURE(n);
    CHECK(contains(message_of([&] { return check_whole(whole.substr(0, n)), 0; }), "truncated PNG",
                   std::to_string(n)));
  }
  for (std::size_t at = 41; at < whole.size() - 16; at += 61) {
    std::string bad = whole;
    bad[at] = static_cast<char>(bad[at] ^ 4);
    CAPTURE(at);
    CHECK(contains(message_of([&] { return check_whole(bad), 0; }), "PNG"));
  }
  check_whole(whole + "garbage");
  CHECK(contains(message_of([&] { return check_whole(whole.substr(0, 60)), 0; }), "IDAT chunk at 33"));
}

TEST_CASE("a BMP or GIF cut anywhere is an error") {
  for (const std::string& whole : {encode_bmp(photo(21, 15)), encode_gif(photo(40, 30, 1))}) {
    check_whole(whole);
    for (std::size_t n = 20; n + 2 < whole.size(); n += 53) {
      CAPTURE(n);
      CHECK(contains(message_of([&] { return check_whole(whole.substr(0, n)), 0; }), "truncated"));
    }
  }
}

TEST_CASE("damaged pixels are an error with stb's reason, on whichever thread") {
  std::string bad = encode_jpeg(photo(64, 48));
  bad[bad.find("\xFF\xDA") + 11] = 1;  // a baseline scan without the lowest frequency
  std::vector<std::string> texts(4);
  std::vector<std::thread> threads;
  for (std::string& text : texts) {
    threads.emplace_back([&] { text = message_of([&] { return decoded(bad, 3); }); });
  }
  for (std::thread& t : threads) t.join();
  for (const std::string& text : texts) CHECK(contains(text, "damaged JPEG", "stb_image", "it says: bad"));
}

TEST_CASE("a Huffman table with more codes than there is room for never reaches stb") {
  std::string bad = encode_jpeg(photo(64, 48));
  const std::size_t tables = bad.find("\xFF\xC4");
  for (std::size_t i = tables + 5; i < tables + 21; ++i) bad[i] = '\xFE';
  CHECK(contains(message_of([&] { return decoded(bad, 3); }), "damaged JPEG", "4064 codes"));
}

TEST_CASE("what a damaged JPEG leaves out is the same each time") {
  const std::string whole = encode_jpeg(photo(64, 48));
  std::string no_tables = whole, cut = whole;
  for (std::size_t at; (at = no_tables.find("\xFF\xDB")) != std::string::npos;) no_tables[at + 1] = '\xEF';
  // A restart interval, but no restart marker: stb_image stops there.
  cut = with_jpeg_segment(whole, 0xDD, std::string("\0\x05", 2));
  for (const std::string& file : {no_tables, cut}) {
    image first;
    std::string said;
    for (int round = 0; round < 20; ++round) {
      decoded(encode_jpeg(photo(64 + round, 48, 3, static_cast<std::uint64_t>(round))),
              3);  // leaves its memory behind
      image got;
      const std::string text = message_of([&] { return got = decoded(file, 3), 0; });
      if (round == 0) first = got, said = text;
      CHECK(text == said);
      CHECK(got == first);
    }
  }
}

TEST_CASE(
    "a JPEG whose scan ends within a code and begins again gives pixels or an error, wherever that is") {
  // These bits end the first scan within a value of many bits; stb_image's reader begins the second one in
  // debt for them.
  const std::string file = encode_jpeg(photo(300, 2), 80);
  const std::size_t scan = file.find("\xFF\xDA"), data = scan + 14;
  int read = 0;
  for (const std::string& end :
       {std::string("\x00\xFC\xD9\xFF\x00\x82", 6), std::string("\xFC\xD9\xFF\x00\x82", 5), std::string()}) {
    for (std::size_t cut = 0; cut < 60; ++cut) {
      const std::string twice = file.substr(0, data + cut) + end + file.substr(scan);
      if (message_of([&] { return decoded(twice, 3); }).empty()) ++read;
    }
  }
  CHECK(read > 0);
}

TEST_CASE("random damage gives pixels or an error, never anything else") {
  wick::random_stream random(3, 0, 0, 0);
  const image p = photo(48, 40);
  const std::string files[] = {encode_jpeg(p), encode_png(p), encode_bmp(p), encode_gif(photo(48, 40, 1)),
                               std::string(progressive, sizeof progressive - 1)};
  int pixels = 0, errors = 0;
  for (int round = 0; round < 1500; ++round) {
    std::string bad = files[static_cast<std::size_t>(round) % std::size(files)];
    const auto flips = 1 + random.below(8);
    for (std::uint64_t i = 0; i < flips; ++i) {
      const std::size_t reach = random.bernoulli(0.5) ? std::min<std::size_t>(bad.size(), 200) : bad.size();
      bad[random.below(reach)] = static_cast<char>(random());
    }
    try {
      const wick::ext::picture_info info = wick::ext::codecs().probe(span_of(bad));
      wick::detail::check_size(info, 1'000'000);
      const auto out = info.decoder->decode(span_of(bad), info, {{0, 0, 1, 1}, 1.0, 1 + round % 4});
      CHECK(out.pixels.channels() == 1 + round % 4);
      ++pixels;
    } catch (const wick::error&) {
      ++errors;
    }
  }
  CHECK(pixels > 100);
  CHECK(errors > 100);
}

}  // namespace wick_test::stb_tests
