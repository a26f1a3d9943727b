// GIFs of every kind: frames anywhere in the picture, palettes, transparency, interlacing, codes of all
// lengths; beside the numbers that they were made of, and Pillow.
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "../support/picture.hpp"
#include "../support/pillow.hpp"
#include <wick/image/decode.hpp>
#include <wick/pipeline/random.hpp>

namespace wick_test::gif_kinds_tests {

using wick::color;
using wick::image;

namespace {

struct stored_gif {
  int width = 1, height = 1;  // of the picture
  int left = 0, top = 0, frame_width = 1, frame_height = 1;
  int code_bits = 8, transparent = -1;
  bool interlaced = false;
  std::string global{}, local{};  // palettes
  std::vector<std::uint8_t> numbers{};
  int clear_after = 100000;  // codes until the table is cleared, though it is not full

  int total_width() const { return std::max(width, left + frame_width); }
  int total_height() const { return std::max(height, top + frame_height); }
  int number(int x, int y) const {
    const int fx = x - left, fy = y - top;
    if (fx < 0 || fy < 0 || fx >= frame_width || fy >= frame_height) return std::max(transparent, 0);
    return numbers[static_cast<std::size_t>(fy * frame_width + fx)];
  }
  /// Of numbers that are not, releases of Pillow make other colors: black, or their own gray.
  bool is_in_palette(int x, int y) const {
    const std::string& palette = local.empty() ? global : local;
    return palette.empty() || static_cast<std::size_t>(3 * number(x, y)) < palette.size();
  }
  std::array<int, 4> rgba(int x, int y) const {
    const int n = number(x, y);
    const std::string& palette = local.empty() ? global : local;
    std::array<int, 4> out{n, n, n, n == transparent ? 0 : 255};
    for (int c = 0; c < 3 && !palette.empty(); ++c) {
      const auto at = static_cast<std::size_t>(3 * n + c);
      out[static_cast<std::size_t>(c)] = at < palette.size() ? static_cast<unsigned char>(palette[at]) : 0;
    }
    return out;
  }
};

std::string little16(int v) { return {static_cast<char>(v & 255), static_cast<char>(v >> 8)}; }
char palette_flag(const std::string& palette, int more) {
  int size = 0;
  while (static_cast<std::size_t>(6) << size < palette.size()) ++size;
  return static_cast<char>(more | (palette.empty() ? 0 : 0x80 | size));
}

/// LZW as the format has it: longest known strings, codes that grow to 12 bits, a full table that stays or is
/// cleared.
std::string packed(const std::vector<std::uint8_t>& numbers, int code_bits, int clear_after) {
  std::string codes;
  std::uint32_t held = 0;
  int filled = 0;
  const auto put = [&](int code, int bits) {
    held |= static_cast<std::uint32_t>(code) << filled;
    for (filled += bits; filled >= 8; filled -= 8, held >>= 8) codes += static_cast<char>(held & 255u);
  };
  const int clear = 1 << code_bits;
  std::map<std::pair<int, int>, int> known;
  int bits = code_bits + 1, next = clear + 2, since = 0;
  put(clear, bits);
  int run = -1;
  for (const std::uint8_t v : numbers) {
    if (run < 0) {
      run = v;
      continue;
    }
    const auto found = known.find({run, v});
    if (found != known.end()) {
      run = found->second;
      continue;
    }
    put(run, bits);
    if (next < 4096) known[{run, v}] = next++;
    if (next > 1 << bits && bits < 12) ++bits;
    if (++since >= clear_after) {
      put(clear, bits);
      known.clear();
      bits = code_bits + 1;
      next = clear + 2;
      since = 0;
    }
    run = v;
  }
  if (run >= 0) put(run, bits);
  if (next < 4096 && ++next > 1 << bits && bits < 12) ++bits;
  put(clear + 1, bits);
  if (filled != 0) codes += static_cast<char>(held & 255u);
  std::string out(1, static_cast<char>(code_bits));
  for (std::size_t at = 0; at < codes.size(); at += 255) {
    const std::string block = codes.substr(at, 255);
    out += static_cast<char>(block.size());
    out += block;
  }
  return out + '\0';
}

std::string encode(const stored_gif& g) {
  std::string out = "GIF89a" + little16(g.width) + little16(g.height) + palette_flag(g.global, 0) +
                    std::string(2, '\0') + g.global;
  out += std::string("\x21\xFE\x05hello\0", 9);
  if (g.transparent >= 0)
    out += std::string("\x21\xF9\x04\x01\0\0", 6) + static_cast<char>(g.transparent) + '\0';
  out += ',' + little16(g.left) + little16(g.top) + little16(g.frame_width) + little16(g.frame_height);
  out += palette_flag(g.local, g.interlaced ? 0x40 : 0) + g.local;
  std::vector<std::uint8_t> order;
  const auto put_row = [&](int y) {
    const auto row = g.numbers.begin() + std::ptrdiff_t{y} * g.frame_width;
    order.insert(order.end(), row, row + g.frame_width);
  };
  if (g.interlaced) {
    for (const auto& [start, step] : {std::pair{0, 8}, {4, 8}, {2, 4}, {1, 2}}) {
      for (int y = start; y < g.frame_height; y += step) put_row(y);
    }
  } else {
    for (int y = 0; y < g.frame_height; ++y) put_row(y);
  }
  return out + packed(order, g.code_bits, g.clear_after) + ';';
}

stored_gif random_gif(wick::random_stream& random) {
  const auto some = [&](int n) { return static_cast<int>(random.below(static_cast<std::uint64_t>(n))); };
  const auto palette = [&](int bits) {
    std::string out(std::size_t{3} << bits, '\0');
    for (char& c : out) c = static_cast<char>(some(256));
    return out;
  };
  stored_gif g;
  g.width = 1 + some(90);
  g.height = 1 + some(90);
  g.frame_width = g.width;
  g.frame_height = g.height;
  if (some(2) == 0) {
    g.left = some(20);
    g.top = some(20);
    g.frame_width = 1 + some(90);
    g.frame_height = 1 + some(90);
  }
  g.code_bits = 2 + some(7);
  if (some(4) != 0) g.global = palette(1 + some(8));
  if (some(3) == 0) g.local = palette(1 + some(8));
  if (some(2) == 0) g.transparent = some(1 << g.code_bits);
  g.interlaced = some(2) == 0;
  if (some(3) == 0) g.clear_after = 1 + some(300);
  const int noise = 1 + some(8);
  g.numbers.resize(static_cast<std::size_t>(g.frame_width * g.frame_height));
  std::uint8_t last = 0;
  for (std::uint8_t& v : g.numbers)
    v = last = some(noise) == 0 ? static_cast<std::uint8_t>(some(1 << g.code_bits)) : last;
  return g;
}

image decoded(const std::string& file, color mode) {
  wick::context context = context_at(0);
  return wick::decode({.mode = mode})(as_bytes(file), context).pixels();
}

}  // namespace

TEST_CASE("every GIF's pixels have the color of their number, transparent or not, or are that number") {
  wick::random_stream random(21, 0, 0, 0);
  for (int round = 0; round < 300; ++round) {
    const stored_gif g = random_gif(random);
    const std::string file = encode(g);
    CAPTURE(round);
    const image rgb = decoded(file, color::rgb), rgba = decoded(file, color::rgba),
                index = decoded(file, color::index);
    REQUIRE(rgb.width() == g.total_width());
    REQUIRE(rgb.height() == g.total_height());
    bool same = true;
    for (int y = 0; y < rgb.height(); ++y) {
      for (int x = 0; x < rgb.width(); ++x) {
        const auto expected = g.rgba(x, y);
        for (int c = 0; c < 4; ++c) {
          const int wanted = expected[static_cast<std::size_t>(c)];
          same = same && rgba.row(y)[4 * x + c] == wanted && (c == 3 || rgb.row(y)[3 * x + c] == wanted);
        }
        same = same && index.row(y)[x] == g.number(x, y);
      }
    }
    CHECK(same);
  }
}

TEST_CASE("every GIF's first frame is as Pillow reads it") {
  pillow with;
  wick::random_stream random(22, 0, 0, 0);
  std::vector<std::pair<stored_gif, std::string>> all;
  for (int round = 0; round < 200; ++round) {
    const stored_gif g = random_gif(random);
    const std::string name = "gif" + std::to_string(round);
    all.emplace_back(g, encode(g));
    with.write(name, all.back().second);
    for (const char* mode : {"RGB", "RGBA", "L"})
      with.job("load " + with.path(name) + " " + with.path(name + mode) + " " + mode);
  }
  if (!with.run()) return;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& [g, file] = all[i];
    CAPTURE(i);
    for (const auto& [mode, name] :
         {std::pair{color::rgb, "RGB"}, {color::rgba, "RGBA"}, {color::gray, "L"}}) {
      CAPTURE(name);
      const image got = decoded(file, mode);
      const image theirs =
          with.pixels("gif" + std::to_string(i) + name, g.total_width(), g.total_height(), got.channels());
      CHECK(same_where(got, theirs, [&](int x, int y) { return g.is_in_palette(x, y); }));
    }
  }
}

TEST_CASE(
    "a GIF with a code that stands for nothing, too few codes or far too many is an error that says so") {
  stored_gif g;
  g.width = g.height = g.frame_width = g.frame_height = 40;
  g.code_bits = 3;
  g.global = std::string(24, 'x');
  g.numbers.assign(1600, 1);
  const std::string whole = encode(g);
  CHECK(message_of([&] { return decoded(whole, color::rgb); }).empty());

  stored_gif few = g;
  few.numbers.resize(1500);
  few.frame_height = 37;  // 1480 of them
  std::string file = encode(few);
  const std::size_t frame = file.find(',');
  file[frame + 7] = 40;  // the height that it claims
  CHECK(contains(message_of([&] { return decoded(file, color::rgb); }), "damaged GIF", "of 1600 pixels"));

  std::string wrong = whole;
  wrong[wrong.find(',') + 12] = '\xF8';  // codes of four bits: 8 clears, 15 is not known yet
  CHECK(contains(message_of([&] { return decoded(wrong, color::rgb); }), "damaged GIF", "code 15",
                 "stands for nothing"));

  stored_gif much = g;
  much.frame_height = 4000;
  much.numbers.assign(160000, 1);
  file = encode(much);
  file[file.find(',') + 7] = 40;
  file[file.find(',') + 8] = 0;
  CHECK(contains(message_of([&] { return decoded(file, color::rgb); }), "more pixels", "40 x 40"));
}

}  // namespace wick_test::gif_kinds_tests
