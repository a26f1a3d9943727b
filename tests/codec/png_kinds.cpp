// Every kind of PNG, as levels of 8 and 16 bits and as numbers, beside the samples that it was made of, and
// Pillow.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>
#include <zlib.h>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "../support/picture.hpp"
#include "../support/pillow.hpp"
#include <wick/image/decode.hpp>
#include <wick/pipeline/random.hpp>
#include <wick/transforms/crop.hpp>
#include <wick/transforms/flip.hpp>
#include <wick/transforms/resize.hpp>

namespace wick_test::png_kinds_tests {

using wick::color;
using wick::dtype;
using wick::image;
using wick::lazy_image;

namespace {

/// A PNG and what it was made of.
struct stored_png {
  int width = 0, height = 0, bits = 8, kind = 2;  // the header's color type
  bool interlaced = false, keyed = false;
  std::vector<std::uint32_t> samples{};
  std::vector<std::uint8_t> palette{}, alpha{};
  std::array<std::uint32_t, 3> key{};

  int channels() const { return kind == 2 ? 3 : kind == 4 ? 2 : kind == 6 ? 4 : 1; }
  std::uint32_t at(int x, int y, int c) const {
    return samples[static_cast<std::size_t>((y * width + x) * channels() + c)];
  }
  std::uint32_t most() const { return (1u << bits) - 1; }
  /// Of numbers that are not, releases of Pillow make other colors: black, or their own gray.
  bool is_in_palette(int x, int y) const { return kind != 3 || 3 * at(x, y, 0) < palette.size(); }

  /// Red, green, blue, alpha at 16 bits for a PNG of 16, else at 8.
  std::array<std::uint32_t, 4> rgba(int x, int y) const {
    const std::uint32_t full = bits == 16 ? 65535 : 255, v = at(x, y, 0);
    if (kind == 3) {
      const auto level = [&](std::uint32_t c) {
        return 3 * v + c < palette.size() ? std::uint32_t{palette[3 * v + c]} : 0;
      };
      return {level(0), level(1), level(2), v < alpha.size() ? std::uint32_t{alpha[v]} : 255};
    }
    const bool hidden =
        keyed && v == key[0] && (kind == 0 || (at(x, y, 1) == key[1] && at(x, y, 2) == key[2]));
    const std::uint32_t a = kind == 4 ? at(x, y, 1) : kind == 6 ? at(x, y, 3) : hidden ? 0 : full;
    if (kind == 2 || kind == 6) return {v, at(x, y, 1), at(x, y, 2), a};
    const std::uint32_t level = v * (full / most());
    return {level, level, level, a};
  }
  std::uint32_t level(int x, int y, int wanted_channels, int c) const {
    const auto v = rgba(x, y);
    if (wanted_channels % 2 == 0 && c == wanted_channels - 1) return v[3];
    if (wanted_channels >= 3) return v[static_cast<std::size_t>(c)];
    if (kind == 0 || kind == 4) return v[0];
    return (v[0] * 19595u + v[1] * 38470u + v[2] * 7471u + 32768u) >> 16;
  }
};

void put32(std::string& out, std::uint32_t v) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(v >> shift & 255u);
}
void put_chunk(std::string& out, const std::string& name, const std::string& content) {
  put32(out, static_cast<std::uint32_t>(content.size()));
  const std::string all = name + content;
  out += all;
  put32(out, static_cast<std::uint32_t>(
                 ::crc32(0, reinterpret_cast<const Bytef*>(all.data()), static_cast<uInt>(all.size()))));
}
template <class Bytes>
std::string text(const Bytes& v) {
  return {v.begin(), v.end()};
}

/// A row's bytes by a filter, from the row and the one above.
std::string filtered(int filter, const std::string& row, const std::string& above, std::size_t step) {
  std::string out(1, static_cast<char>(filter));
  for (std::size_t i = 0; i < row.size(); ++i) {
    const auto byte = [](const std::string& s, std::size_t k) {
      return int{static_cast<unsigned char>(s[k])};
    };
    const int a = i < step ? 0 : byte(row, i - step), b = byte(above, i),
              c = i < step ? 0 : byte(above, i - step);
    const int p = a + b - c, pa = std::abs(p - a), pb = std::abs(p - b), pc = std::abs(p - c);
    const int paeth = pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
    const int guesses[] = {0, a, b, (a + b) / 2, paeth};
    out += static_cast<char>(byte(row, i) - guesses[filter]);
  }
  return out;
}

/// `excess` bytes more than the header can need are among the pixels.
std::string encode(const stored_png& p, wick::random_stream& random, int pieces = 3, std::size_t excess = 0) {
  const int passes[7][4] = {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4},
                            {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}};
  const int whole[1][4] = {{0, 0, 1, 1}};
  const std::span<const int[4]> all =
      p.interlaced ? std::span<const int[4]>(passes) : std::span<const int[4]>(whole);
  const auto step = static_cast<std::size_t>(std::max(1, p.bits * p.channels() / 8));
  std::string raw;
  for (const auto& [left, top, across, down] : all) {
    if (left >= p.width) continue;
    std::string above;
    for (int y = top; y < p.height; y += down) {
      std::string row;
      unsigned held = 0;
      int filled = 0;
      for (int x = left; x < p.width; x += across) {
        for (int c = 0; c < p.channels(); ++c) {
          const std::uint32_t v = p.at(x, y, c);
          if (p.bits == 16) row += static_cast<char>(v >> 8);
          if (p.bits >= 8) {
            row += static_cast<char>(v & 255u);
            continue;
          }
          held = held << p.bits | v;
          if ((filled += p.bits) < 8) continue;
          row += static_cast<char>(held);
          held = 0;
          filled = 0;
        }
      }
      if (filled != 0) row += static_cast<char>(held << (8 - filled));
      if (above.empty()) above.assign(row.size(), '\0');
      raw += filtered(static_cast<int>(random.below(5)), row, above, step);
      above = row;
    }
  }
  raw.append(excess, '\x5A');
  std::string packed(::compressBound(static_cast<uLong>(raw.size())), '\0');
  auto size = static_cast<uLongf>(packed.size());
  REQUIRE(::compress(reinterpret_cast<Bytef*>(packed.data()), &size,
                     reinterpret_cast<const Bytef*>(raw.data()), static_cast<uLong>(raw.size())) == Z_OK);
  packed.resize(size);
  std::string out("\x89PNG\r\n\x1a\n", 8), header;
  put32(header, static_cast<std::uint32_t>(p.width));
  put32(header, static_cast<std::uint32_t>(p.height));
  for (const int v : {p.bits, p.kind, 0, 0, p.interlaced ? 1 : 0}) header += static_cast<char>(v);
  put_chunk(out, "IHDR", header);
  if (!p.palette.empty()) put_chunk(out, "PLTE", text(p.palette));
  if (!p.alpha.empty()) put_chunk(out, "tRNS", text(p.alpha));
  if (p.keyed) {
    std::string key;
    for (int c = 0; c < p.channels(); ++c) {
      // Bits above those of a sample count for nothing.
      const std::uint32_t v =
          p.key[static_cast<std::size_t>(c)] | (p.bits < 8 ? 0xFF00u << p.bits & 0xFF00u : 0u);
      key += static_cast<char>(v >> 8);
      key += static_cast<char>(v & 255u);
    }
    put_chunk(out, "tRNS", key);
  }
  const std::size_t piece = packed.size() / static_cast<std::size_t>(pieces) + 1;
  for (std::size_t at = 0; at < packed.size(); at += piece) put_chunk(out, "IDAT", packed.substr(at, piece));
  put_chunk(out, "IDAT", "");
  put_chunk(out, "IEND", "");
  return out;
}

stored_png make(int width, int height, int kind, int bits, bool interlaced, bool transparent,
                wick::random_stream& random) {
  stored_png p{.width = width, .height = height, .bits = bits, .kind = kind, .interlaced = interlaced};
  p.samples.resize(static_cast<std::size_t>(width * height * p.channels()));
  for (std::uint32_t& v : p.samples) v = static_cast<std::uint32_t>(random.below(p.most() + 1ull));
  if (kind == 3) {
    for (std::uint32_t i = 0; i < 3 * std::min(p.most() + 1, 200u); ++i) {
      p.palette.push_back(static_cast<std::uint8_t>(random.below(256)));
    }
    for (std::uint32_t i = 0; transparent && i <= p.most() / 2; ++i)
      p.alpha.push_back(static_cast<std::uint8_t>(random.below(256)));
  } else if (transparent && (kind == 0 || kind == 2)) {
    p.keyed = true;
    for (int c = 0; c < p.channels(); ++c)
      p.key[static_cast<std::size_t>(c)] = p.at(width / 2, height / 2, c);
  }
  return p;
}

constexpr int kinds[][2] = {{0, 1}, {0, 2}, {0, 4}, {0, 8}, {0, 16}, {2, 8}, {2, 16}, {3, 1},
                            {3, 2}, {3, 4}, {3, 8}, {4, 8}, {4, 16}, {6, 8}, {6, 16}};

/// Each kind, plain and interlaced, with transparency and without, in several sizes.
template <class Check>
void for_each_png(Check check) {
  wick::random_stream random(11, 0, 0, 0);
  for (const auto& [kind, bits] : kinds) {
    for (const bool interlaced : {false, true}) {
      for (const bool transparent : {false, true}) {
        for (const auto& [w, h] : {std::pair{37, 23}, {1, 1}, {3, 9}, {8, 2}, {300, 5}}) {
          const stored_png p = make(w, h, kind, bits, interlaced, transparent, random);
          CAPTURE(kind);
          CAPTURE(bits);
          CAPTURE(interlaced);
          CAPTURE(transparent);
          CAPTURE(w);
          check(p, encode(p, random));
        }
      }
    }
  }
}

lazy_image decoded(const std::string& file, const wick::decode_options& options = {}) {
  wick::context context = context_at(0);
  return wick::decode(options)(as_bytes(file), context);
}
template <class Number>
std::vector<Number> numbers(const lazy_image& picture, bool planar = false) {
  std::vector<Number> out(static_cast<std::size_t>(picture.extents().count()));
  REQUIRE(picture.type() == wick::detail::dtype_of<Number>());
  picture.write_to({reinterpret_cast<std::byte*>(out.data()), planar});
  return out;
}
constexpr std::pair<color, int> modes[] = {{color::gray, 1}, {color::rgb, 3}, {color::rgba, 4}};

}  // namespace

TEST_CASE(
    "levels of 8 bits of every kind of PNG are those of its samples, of 16 bits the upper ones on request") {
  for_each_png([](const stored_png& p, const std::string& file) {
    for (const auto& [mode, n] : modes) {
      CAPTURE(n);
      const image got = decoded(file, {.mode = mode, .reduce_16_bits = p.bits == 16}).pixels();
      REQUIRE(got.channels() == n);
      bool same = true;
      for (int y = 0; y < p.height; ++y) {
        for (int x = 0; x < p.width; ++x) {
          for (int c = 0; c < n; ++c) {
            std::uint32_t expected = p.level(x, y, n, c);
            if (p.bits == 16) {
              // Reduced first: the gray of colors is that of the reduced ones.
              const auto v = p.rgba(x, y);
              const bool mixed = n == 1 && (p.kind == 2 || p.kind == 6);
              expected =
                  mixed ? ((v[0] >> 8) * 19595u + (v[1] >> 8) * 38470u + (v[2] >> 8) * 7471u + 32768u) >> 16
                        : expected >> 8;
            }
            same = same && got.row(y)[x * n + c] == expected;
          }
        }
      }
      CHECK(same);
    }
  });
}

TEST_CASE("a byte too many, which only zlib lets pass, changes no pixel; nor does the number of chunks") {
  wick::random_stream same(12, 0, 0, 0);
  for_each_png([&](const stored_png& p, const std::string&) {
    const wick::random_stream filters = same;
    const auto pixels = [&](int pieces, std::size_t excess) {
      wick::random_stream random = filters;
      return decoded(encode(p, random, pieces, excess), {.reduce_16_bits = p.bits == 16}).pixels();
    };
    const image whole = pixels(1, 0);
    CHECK(whole == pixels(4, 0));
    CHECK(whole == pixels(1, 1));
    CHECK(whole == pixels(4, 1));
    (void)same.below(2);
  });
}

TEST_CASE("rows above a third of the height, which are inflated piece by piece, are those of the whole") {
  wick::random_stream random(13, 0, 0, 0);
  for (const auto& [kind, bits] : kinds) {
    const stored_png p = make(700, 400, kind, bits, false, false, random);  // of several pieces
    const std::string file = encode(p, random);
    const image whole = decoded(file, {.reduce_16_bits = bits == 16}).pixels();
    for (const int bottom : {1, 60, 132, 133, 134, 399}) {
      lazy_image part = decoded(file, {.reduce_16_bits = bits == 16});
      part.crop({13, bottom / 2, 500, bottom - bottom / 2});
      const image got = std::move(part).pixels();
      bool equal = true;
      for (int y = 0; y < got.height(); ++y) {
        const std::size_t n = static_cast<std::size_t>(got.channels());
        equal = equal && std::memcmp(got.row(y), whole.row(y + bottom / 2) + 13 * n, 500 * n) == 0;
      }
      CHECK(equal);
    }
  }
}

TEST_CASE("a PNG of 16 bits comes unreduced as int32, and as float32 in [0, 1], planar or not") {
  for_each_png([](const stored_png& p, const std::string& file) {
    if (p.bits != 16) return;
    for (const auto& [mode, n] : modes) {
      CAPTURE(n);
      const lazy_image whole = decoded(file, {.mode = mode, .type = dtype::int32});
      const lazy_image scaled = decoded(file, {.mode = mode, .type = dtype::float32});
      for (const bool planar : {false, true}) {
        const auto got = numbers<std::int32_t>(whole, planar);
        const auto parts = numbers<float>(scaled, planar);
        bool same = true;
        for (int y = 0; y < p.height; ++y) {
          for (int x = 0; x < p.width; ++x) {
            for (int c = 0; c < n; ++c) {
              const auto i = static_cast<std::size_t>(planar ? (c * p.height + y) * p.width + x
                                                             : (y * p.width + x) * n + c);
              const std::uint32_t expected = p.level(x, y, n, c);
              same = same && got[i] == static_cast<std::int32_t>(expected) &&
                     parts[i] == static_cast<float>(expected) / 65535.0f;
            }
          }
        }
        CHECK(same);
      }
    }
  });
}

TEST_CASE("a mask's numbers are those that are stored, of any depth, and of 16 bits as int32") {
  for_each_png([](const stored_png& p, const std::string& file) {
    if (p.kind != 0 && p.kind != 3) return;
    const auto same = [&](const auto& got) {
      return std::equal(got.begin(), got.end(), p.samples.begin(), p.samples.end(),
                        [](auto a, std::uint32_t b) { return static_cast<std::uint32_t>(a) == b; });
    };
    CHECK(same(numbers<std::int32_t>(decoded(file, {.mode = color::index, .type = dtype::int32}))));
    if (p.bits == 16) return;
    CHECK(same(numbers<std::uint8_t>(decoded(file, {.mode = color::index}))));
    CHECK(decoded(file, {.mode = color::index}).extents() == wick::shape{p.height, p.width, 1});
  });
}

TEST_CASE("every kind of PNG is as Pillow reads it") {
  pillow with;
  std::vector<std::pair<stored_png, std::string>> all;
  for_each_png([&](const stored_png& p, const std::string& file) {
    if (p.bits == 16 && p.kind == 0) return;  // Pillow clips those where it makes 8 bits of them
    const std::string name = "png" + std::to_string(all.size());
    with.write(name, file);
    for (const char* mode : {"RGB", "RGBA", "L"})
      with.job("load " + with.path(name) + " " + with.path(name + mode) + " " + mode);
    all.emplace_back(p, file);
  });
  if (!with.run()) return;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& [p, file] = all[i];
    CAPTURE(p.kind);
    CAPTURE(p.bits);
    CAPTURE(p.interlaced);
    CAPTURE(p.keyed);
    for (const auto& [mode, name] :
         {std::pair{color::rgb, "RGB"}, {color::rgba, "RGBA"}, {color::gray, "L"}}) {
      if (mode == color::rgba && p.keyed && p.bits != 8) continue;  // of other depths Pillow misses the key
      const image got = decoded(file, {.mode = mode, .reduce_16_bits = p.bits == 16}).pixels();
      const image theirs = with.pixels("png" + std::to_string(i) + name, p.width, p.height, got.channels());
      CHECK(same_where(got, theirs, [&](int x, int y) { return p.is_in_palette(x, y); }));
    }
  }
}

TEST_CASE("what would lose bits or mean something else is an error that says what to write") {
  wick::random_stream random(3, 0, 0, 0);
  const auto file = [&](int kind, int bits) {
    return encode(make(9, 7, kind, bits, false, false, random), random);
  };
  const auto refusal = [](const std::string& f, const wick::decode_options& o) {
    return message_of([&] { return decoded(f, o); });
  };
  CHECK(contains(refusal(file(0, 16), {}), "PNG of 16 bits a channel", "would lose 8",
                 ".type = wick::dtype::int32", "reduce_16_bits"));
  CHECK(contains(refusal(file(0, 16), {.mode = color::index}), "PNG of 16 bits", "int32"));
  CHECK(contains(refusal(file(2, 8), {.mode = color::index}), "PNG of colors", "no numbers of classes"));
  CHECK(contains(refusal(encode_jpeg(photo(8, 8, 1)), {.mode = color::index}), "JPEG of colors",
                 "no numbers of classes"));
  CHECK(contains(refusal(encode_bmp(photo(8, 8)), {.mode = color::index}), "BMP of colors"));
  CHECK(refusal(encode_gif(photo(8, 8, 1)), {.mode = color::index}).empty());

  CHECK(contains(message_of([] { return wick::decode({.type = dtype::int64}); }), "int64",
                 "give uint8, int32 or float32"));
  CHECK(contains(message_of([] { return wick::decode({.mode = color::index, .type = dtype::float32}); }),
                 "color::index"));
  CHECK(contains(message_of([] { return wick::decode({.type = dtype::int32, .reduce_16_bits = true}); }),
                 "leave one of them out"));

  const std::string wide = file(0, 16), mask = file(3, 8);
  lazy_image depth = decoded(wide, {.mode = color::gray, .type = dtype::int32});
  CHECK(contains(message_of([&] { return depth.pixels(); }), "16 bits a channel", "reduce_16_bits"));
  CHECK(contains(message_of([&] {
                   return depth.apply({wick::detail::pixel_op::kind::brightness, 0.5f}), 0;
                 }),
                 "color operations", "16 bits"));
  CHECK(contains(message_of([&] { return depth.normalize({{0.5f}, {0.5f}, 1}), 0; }), "int32", "float32"));
  lazy_image classes = decoded(mask, {.mode = color::index});
  CHECK(contains(message_of([&] { return classes.resize(4, 4), 0; }), "blend", "nearest"));
  CHECK(contains(message_of([&] {
                   return classes.apply({wick::detail::pixel_op::kind::hue, 0.5f}), 0;
                 }),
                 "classes"));
  CHECK(contains(message_of([&] { return decoded(mask, {.type = dtype::int32}).materialize(); }), "int32",
                 "batch()"));
}

TEST_CASE(
    "masks and pictures of 16 bits are cut, mirrored and resized to the nearest pixel as pictures of 8 bits "
    "are") {
  wick::random_stream random(5, 0, 0, 0);
  for (const bool interlaced : {false, true}) {
    for (int round = 0; round < 40; ++round) {
      stored_png deep = make(41, 33, 0, 16, interlaced, false, random), mask = deep;
      for (std::uint32_t& v : deep.samples) v &= 255u;  // the same numbers in both
      mask = deep;
      mask.bits = 8;
      const auto some = [&](int n) { return static_cast<int>(random.below(static_cast<std::uint64_t>(n))); };
      lazy_image a = decoded(encode(deep, random), {.mode = color::gray, .type = dtype::int32});
      lazy_image b = decoded(encode(mask, random), {.mode = color::index});
      lazy_image c = decoded(encode(mask, random), {.mode = color::index, .type = dtype::int32});
      for (int step = 0; step < 4; ++step) {
        const int what = some(4), x = some(8), y = some(8), w = a.width(), h = a.height();
        const int new_w = 9 + some(40), new_h = 9 + some(40);
        for (lazy_image* p : {&a, &b, &c}) {
          if (what == 0) p->crop({x, y, std::max(1, w - x - 3), std::max(1, h - y - 2)});
          if (what == 1) p->mirror_x();
          if (what == 2) p->mirror_y();
          if (what == 3) p->resize(new_w, new_h, wick::interpolation::nearest);
        }
        if (a.width() < 12 || a.height() < 12) break;
      }
      const auto numbers_a = numbers<std::int32_t>(a), numbers_c = numbers<std::int32_t>(c);
      const auto numbers_b = numbers<std::uint8_t>(b);
      CHECK(std::equal(numbers_a.begin(), numbers_a.end(), numbers_b.begin(), numbers_b.end()));
      CHECK(numbers_a == numbers_c);
    }
  }
}

TEST_CASE("a picture of 16 bits is resized as one of 8 bits, only finer") {
  wick::random_stream random(7, 0, 0, 0);
  const image from = photo(61, 47, 3);
  stored_png deep{.width = 61, .height = 47, .bits = 16, .kind = 2};
  for (const std::uint8_t v : from.pixels()) deep.samples.push_back(v * 257u);
  const std::string file = encode(deep, random);
  for (const auto filter : {wick::interpolation::bilinear, wick::interpolation::bicubic}) {
    for (const auto& [w, h] : {std::pair{20, 15}, {97, 80}, {61, 10}}) {
      lazy_image wide = decoded(file, {.type = dtype::int32}), narrow(from);
      lazy_image scaled = decoded(file, {.type = dtype::float32});
      for (lazy_image* p : {&wide, &narrow, &scaled}) {
        p->crop({3, 2, 50, 40});
        p->resize(w, h, filter);
        p->mirror_x();
      }
      const auto got = numbers<std::int32_t>(wide);
      const auto parts = numbers<float>(scaled);
      const image expected = std::move(narrow).pixels();
      double greatest = 0;
      for (std::size_t i = 0; i < got.size(); ++i) {
        greatest = std::max(greatest, std::abs(got[i] / 257.0 - expected.pixels()[i]));
        CHECK(parts[i] == static_cast<float>(got[i]) / 65535.0f);
      }
      CHECK(greatest <= 1.0);
    }
  }
}

TEST_CASE("float32 is normalized at 16 bits as at 8, and 8 bits as numbers are levels up to 255") {
  wick::random_stream random(9, 0, 0, 0);
  const image from = photo(10, 8, 3);
  stored_png deep{.width = 10, .height = 8, .bits = 16, .kind = 2};
  for (const std::uint8_t v : from.pixels()) deep.samples.push_back(v * 257u);
  const wick::detail::normalization by{{0.485f, 0.456f, 0.406f}, {0.229f, 0.224f, 0.225f}, 3};
  lazy_image wide = decoded(encode(deep, random), {.type = dtype::float32}),
             narrow = decoded(encode_png(from));
  lazy_image same = decoded(encode_png(from), {.type = dtype::float32});
  for (lazy_image* p : {&wide, &narrow, &same}) p->normalize(by);
  const auto a = numbers<float>(wide, true), b = numbers<float>(narrow, true);
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i] == doctest::Approx(b[i]).epsilon(1e-6));
  CHECK(numbers<float>(same, true) == b);
  const auto levels = numbers<std::int32_t>(decoded(encode_png(from), {.type = dtype::int32}));
  CHECK(std::equal(levels.begin(), levels.end(), from.pixels().begin(), from.pixels().end()));
}

}  // namespace wick_test::png_kinds_tests
