// Small files that ask for much: whatever they hold, what decoding takes is bounded by the header's size. And
// the pictures next to them, which ask for just as much as they may.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/jpeg_writer.hpp"
#include "../support/message_of.hpp"
#include "../support/peak_memory.hpp"
#include "../support/picture.hpp"
#include "../support/sanitized.hpp"
#include <wick/codec/detail/libjpeg_turbo.hpp>
#include <wick/codec/detail/stb.hpp>
#include <wick/image/decode.hpp>

namespace wick_test::bombs_tests {

using wick::image;

namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;

/// By one decoder, all that decode() would ask it.
image decoded(const std::string& file, int channels = 3,
              const wick::ext::codec& by = wick::detail::stb_codec) {
  const auto data = std::as_bytes(std::span(file));
  wick::ext::picture_info info;
  if (!by.probe(data, info)) throw wick::error("no picture");
  wick::detail::check_size(info, wick::decode_options{}.max_pixels);
  by.check_complete(data, info);
  const wick::rect all{0, 0, static_cast<int>(info.width), static_cast<int>(info.height)};
  return by.decode(data, info, {all, 1.0, channels}).pixels;
}
std::string refusal(const std::string& file, const wick::ext::codec& by = wick::detail::stb_codec) {
  return message_of([&] { return decoded(file, 3, by); });
}

/// Codes of changing lengths, the first in the lowest bits.
struct bit_writer {
  void put(unsigned code, unsigned length) {
    buffer |= std::uint64_t{code} << bits;
    for (bits += length; bits >= 8; bits -= 8, buffer >>= 8) out += static_cast<char>(buffer & 255u);
  }
  /// A Huffman code, which comes from its highest bit on.
  void put_backwards(unsigned code, unsigned length) {
    while (length-- != 0) put(code >> length & 1, 1);
  }
  void end() {
    if (bits != 0) put(0, 8 - bits);
  }
  std::string out;
  std::uint64_t buffer = 0;
  unsigned bits = 0;
};

/// A zlib stream of at least `size` zeros, about 160 times shorter: one zero, then as often as need be "the
/// last one again, 258 times", in deflate's fixed codes.
std::string zlib_zeros(std::size_t size) {
  bit_writer w;
  w.out = "\x78\x01";
  w.put(1, 1);
  w.put(1, 2);
  w.put_backwards(0x30, 8);
  for (std::size_t got = 1; got < size; got += 258) {
    w.put_backwards(0xC5, 8);
    w.put(0, 5);
  }
  w.put(0, 7);
  w.end();
  return w.out + std::string(4, '\0');  // stb_image, and this, look at no checksum of the whole
}

/// Scanlines as a PNG has them, of samples below 2^bits.
struct samples {
  int width, height, channels, bits;
  unsigned at(int x, int y, int c) const {
    return static_cast<unsigned>(x * 7 + y * 13 + c * 5 + x * y) & ((1u << bits) - 1);
  }
  /// Every `dx`th column from x0 on of every `dy`th row from y0 on; each row after the byte that names its
  /// filter.
  std::string rows(int x0, int y0, int dx, int dy) const {
    std::string out;
    if (x0 >= width) return out;
    for (int y = y0; y < height; y += dy) {
      out += '\0';
      unsigned byte = 0;
      int filled = 0;
      for (int x = x0; x < width; x += dx) {
        for (int c = 0; c < channels; ++c) {
          if (bits == 16) {
            out += static_cast<char>(at(x, y, c) >> 8);
            out += static_cast<char>(at(x, y, c) & 255u);
            continue;
          }
          byte = byte << bits | at(x, y, c);
          if ((filled += bits) < 8) continue;
          out += static_cast<char>(byte);
          byte = 0;
          filled = 0;
        }
      }
      if (filled != 0) out += static_cast<char>(byte << (8 - filled));
    }
    return out;
  }
  std::string adam7() const {
    static constexpr int passes[7][4] = {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4},
                                         {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}};
    std::string out;
    for (const auto& p : passes) out += rows(p[0], p[1], p[2], p[3]);
    return out;
  }
};

constexpr int channels_of(int color_type) {
  return color_type == 2 ? 3 : color_type == 4 ? 2 : color_type == 6 ? 4 : 1;
}

png_parts png_of(int width, int height, int color_type, int bits) {
  png_parts out{.width = static_cast<std::uint32_t>(width), .height = static_cast<std::uint32_t>(height)};
  out.bits = bits;
  out.color_type = color_type;
  if (color_type != 3) return out;
  for (int i = 0; i < 3 << bits; ++i) out.palette.push_back(static_cast<std::uint8_t>(i * 37));
  for (int i = 0; i < 1 << bits; ++i) out.transparency.push_back(static_cast<std::uint8_t>(i * 11));
  return out;
}

/// A GIF of one frame, of the one color 0, whose codes stand for `pixels` of them.
std::string gif_of(int width, int height, std::uint64_t pixels, const std::string& before_the_frame = {}) {
  const auto little16 = [](int v) {
    return std::string{static_cast<char>(v & 255), static_cast<char>(v >> 8)};
  };
  std::string out = "GIF89a" + little16(width) + little16(height) + std::string("\xF0\0\0", 3);
  out += std::string("\x10\x20\x30\x40\x50\x60", 6) + before_the_frame;
  out += ',' + std::string(4, '\0') + little16(width) + little16(height) + std::string("\0\x02", 2);
  bit_writer w;
  constexpr unsigned clear = 4, end = 5;
  unsigned length = 3;
  w.put(clear, length);
  while (pixels != 0) {
    w.put(0, length);
    --pixels;
    // Each code is the one before and a pixel more. Where the table is full, the longest is said again and
    // again.
    unsigned next = end + 1;
    for (int repeats = 0; pixels != 0 && repeats < 4000;) {
      const std::uint64_t run = std::min(next, 4095u) - end + 1;
      if (run > pixels) break;
      w.put(std::min(next, 4095u), length);
      pixels -= run;
      if (next < 4095) {
        ++next;
        if ((next & (next - 1)) == 0 && next < 4096) ++length;
      } else {
        ++repeats;
      }
    }
    w.put(clear, length);
    length = 3;
  }
  w.put(end, length);
  w.end();
  for (std::size_t at = 0; at < w.out.size(); at += 255) {
    const std::string block = w.out.substr(at, 255);
    out += static_cast<char>(block.size());
    out += block;
  }
  return out + std::string("\0;", 2);
}

/// The file, in which its last scan comes that many times more.
std::string with_scan_again(const std::string& jpeg, int times) {
  const std::size_t last = jpeg.rfind("\xFF\xDA");
  std::string out = jpeg.substr(0, jpeg.size() - 2);
  for (int i = 0; i < times; ++i) out.append(jpeg, last, jpeg.size() - 2 - last);
  return out + "\xFF\xD9";
}

}  // namespace

TEST_CASE("a PNG that inflates to more than its header can need is refused, and takes no memory for it") {
  for (const auto& [side, much] : {std::pair<std::uint32_t, std::size_t>{8, 16}, {64, 60}, {400, 256}}) {
    CAPTURE(side);
    std::string message;
    const std::string bomb =
        make_png({.width = side, .height = side, .compressed = zlib_zeros(much * mebibyte)});
    const std::size_t taken = memory_taken_by([&] { message = refusal(bomb); });
    const std::string needed = std::to_string(side * (3 * side + 1)) + " bytes";
    const std::string size = std::to_string(side) + " x " + std::to_string(side) + " px";
    CHECK(contains(message, "PNG inflates to more than", needed, size, "damaged or hostile"));
    CHECK(taken < 8 * mebibyte);
  }
}

TEST_CASE("a PNG may inflate to a little more than it needs, as other readers take it") {
  const samples all{40, 30, 3, 8};
  png_parts parts = png_of(40, 30, 2, 8);
  const std::string raw = all.rows(0, 0, 1, 1);
  parts.compressed = zlib_stored(raw);
  const image exact = decoded(make_png(parts));
  parts.compressed = zlib_stored(raw + std::string(1000, 'x'));
  CHECK(decoded(make_png(parts)) == exact);
}

TEST_CASE("every kind and size of PNG, interlaced too, is within what its header can need") {
  const std::pair<int, std::vector<int>> kinds[] = {
      {0, {1, 2, 4, 8, 16}}, {2, {8, 16}}, {3, {1, 2, 4, 8}}, {4, {8, 16}}, {6, {8, 16}}};
  std::vector<std::pair<int, int>> sizes;
  for (int w = 1; w <= 9; ++w) {
    for (int h = 1; h <= 9; ++h) sizes.emplace_back(w, h);
  }
  for (const auto& more : {std::pair{1, 700}, {700, 1}, {3, 301}, {131, 93}, {257, 255}})
    sizes.push_back(more);
  for (const auto& [color_type, depths] : kinds) {
    for (const int bits : depths) {
      for (const auto& [w, h] : sizes) {
        CAPTURE(color_type);
        CAPTURE(bits);
        CAPTURE(w);
        CAPTURE(h);
        const samples all{w, h, channels_of(color_type), bits};
        png_parts parts = png_of(w, h, color_type, bits);
        parts.compressed = zlib_stored(all.rows(0, 0, 1, 1));
        const image plain = decoded(make_png(parts), 4);
        parts.interlaced = true;
        parts.compressed = zlib_stored(all.adam7());
        const image interlaced = decoded(make_png(parts), 4);
        REQUIRE(plain.width() == w);
        CHECK(interlaced == plain);
      }
    }
  }
}

TEST_CASE("a PNG of more compressed bytes than its pixels could fill is refused, a wasteful one is not") {
  // Blocks of nothing: what takes time, and would never come to an end that the inflated size tells.
  const std::string nothing("\0\0\0\xFF\xFF", 5);
  const samples all{1, 400, 1, 8};
  const std::string raw = all.rows(0, 0, 1, 1), last = zlib_stored(raw);
  png_parts parts = png_of(1, 400, 0, 8);
  parts.compressed = last;
  const image exact = decoded(make_png(parts));
  std::string much = "\x78\x01";
  for (int i = 0; i < 200'000; ++i) much += nothing;
  parts.compressed = much + last.substr(2);
  CHECK(contains(refusal(make_png(parts)), "compressed bytes", "1 x 400 px", "damaged or hostile"));
  CHECK(contains(refusal(make_png({.width = 8, .height = 8, .compressed = zlib_zeros(256 * mebibyte)})),
                 "compressed bytes", "8 x 8 px"));
  // An encoder that ends a block, and flushes, at each row.
  std::string flushed = "\x78\x01";
  for (std::size_t at = 0; at < raw.size(); at += 2) {
    flushed += std::string("\0\x02\0\xFD\xFF", 5) + raw.substr(at, 2) + nothing;
  }
  parts.compressed = flushed + std::string("\x01\0\0\xFF\xFF", 5) + last.substr(last.size() - 4);
  CHECK(decoded(make_png(parts)) == exact);
}

TEST_CASE("a GIF whose codes stand for more pixels than its frame has is refused") {
  // Each of twelve bits is a walk over some four thousand table entries, inside the frame or not.
  CHECK(contains(refusal(gif_of(1, 1, 20'000'000)), "GIF", "more pixels", "1 x 1", "damaged or hostile"));
  CHECK(refusal(gif_of(100, 100, 10'000 + 5000)).empty());
}

TEST_CASE(
    "a GIF as short as can be, with whatever lies before its frame, is within what its header can need") {
  std::string blocks("\x21\xF9\x04\0\x0A\0\0\0", 8);                   // how long it is shown
  blocks += std::string("\x21\xFF\x0BNETSCAPE2.0\x03\x01\0\0\0", 19);  // how often
  for (int i = 0; i < 300; ++i)
    blocks +=
        "\x21\xFE\x04"
        "text" +
        std::string(1, '\0');  // comments
  for (const auto& [w, h] : {std::pair{1, 1}, {3, 2}, {1, 9999}, {2500, 1300}}) {
    CAPTURE(w);
    const image got =
        decoded(gif_of(w, h, static_cast<std::uint64_t>(w) * static_cast<std::uint64_t>(h), blocks));
    REQUIRE(got.width() == w);
    REQUIRE(got.height() == h);
    bool all = true;
    for (std::size_t i = 0; i < got.pixels().size(); i += 3) {
      all = all && got.pixels()[i] == 0x10 && got.pixels()[i + 1] == 0x20 && got.pixels()[i + 2] == 0x30;
    }
    CHECK(all);
  }
}

TEST_CASE("headers that claim much before any data is there take no memory") {
  const auto little32 = [](std::uint32_t v) {
    std::string out;
    for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(v >> shift & 255u);
    return out;
  };
  for (const int bits : {1, 8, 16, 24, 32}) {
    CAPTURE(bits);
    std::string bmp =
        "BM" + little32(0) + little32(0) + little32(54) + little32(40) + little32(13'000) + little32(13'000);
    bmp += std::string("\1\0", 2) + static_cast<char>(bits) + '\0' + std::string(24 + 64, '\0');
    std::string message;
    CHECK(memory_taken_by([&] { message = refusal(bmp); }) < 16 * mebibyte);
    CHECK(contains(message, "truncated BMP"));
  }
  const std::string png = make_png({.width = 13'000, .height = 13'000, .compressed = zlib_stored("nothing")});
  std::string message;
  // It is asked for, and not touched; AddressSanitizer marks an eighth of what is asked for.
  CHECK(memory_taken_by([&] { message = refusal(png); }) < (sanitized ? 96 : 16) * mebibyte);
  CHECK(contains(message, "PNG"));
  CHECK(contains(refusal(gif_of(65535, 65535, 1)), "over the limit"));
}

TEST_CASE("a baseline JPEG has a scan for each component at most, when stb_image reads it") {
  const std::string file = encode_jpeg(photo(40, 30));
  CHECK(refusal(with_scan_again(file, 2)).empty());
  CHECK(contains(refusal(with_scan_again(file, 3)), "4 scans", "3 components", "damaged or hostile"));
}

TEST_CASE(
    "a JPEG of more Huffman tables than its scans can use is refused before stb_image builds them all") {
  const std::string file = encode_jpeg(photo(40, 30));
  std::string table(1 + 16 + 1, '\0');
  table[0] = '\x10';
  table[1] = 1;
  std::string many = file;
  for (int i = 0; i < 5000; ++i)
    many = many.substr(0, 2) + std::string("\xFF\xC4\0\x14", 4) + table + many.substr(2);
  CHECK(contains(refusal(many), "Huffman tables", "damaged or hostile"));
}

#ifdef WICK_TEST_LIBJPEG_TURBO

TEST_CASE("a JPEG may have as many scans as cjpeg can write, and no more, by both decoders") {
  const std::string file = encode_jpeg(photo(40, 30, 1), jpeg_kind{.progressive = true, .most_scans = true});
  std::size_t scans = 0;
  for (std::size_t at = file.find("\xFF\xDA"); at != std::string::npos; at = file.find("\xFF\xDA", at + 1))
    ++scans;
  REQUIRE(scans == 100);
  const image few = decoded(encode_jpeg(photo(40, 30, 1), jpeg_kind{}), 1, wick::detail::libjpeg_turbo_codec);
  for (const wick::ext::codec* by : {&wick::detail::libjpeg_turbo_codec, &wick::detail::stb_codec}) {
    CAPTURE(by->name);
    CHECK(compare(decoded(file, 1, *by), few).greatest <= 1);
    CHECK(contains(refusal(with_scan_again(file, 1), *by), "more than 100 scans", "decompression bomb"));
  }
}

TEST_CASE("the scans of every kind of progressive JPEG are within the limit") {
  for (const int channels : {1, 3, 4}) {
    for (const bool restarts : {false, true}) {
      const jpeg_kind kind{.progressive = true, .restart_blocks = restarts ? 1u : 0u};
      const std::string file = encode_jpeg(photo(61, 47, channels), kind);
      CHECK(refusal(file).empty());
      CHECK(refusal(file, wick::detail::libjpeg_turbo_codec).empty());
    }
  }
}

#endif

}  // namespace wick_test::bombs_tests
