// Every kind of JPEG, by both decoders, beside what Pillow makes of it.
#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/jpeg_writer.hpp"
#include "../support/message_of.hpp"
#include "../support/picture.hpp"
#include "../support/pillow.hpp"
#include <wick/codec/detail/jpeg.hpp>
#include <wick/codec/detail/libjpeg_turbo.hpp>
#include <wick/codec/detail/stb.hpp>
#include <wick/image/decode.hpp>

namespace wick_test::jpeg_kinds_tests {

#ifdef WICK_TEST_LIBJPEG_TURBO

using wick::image;
using wick::interpolation;
using wick::lazy_image;

namespace {

struct named_kind {
  std::string name;
  int channels;
  jpeg_kind kind;
  bool stb = true;  // whether stb_image reads it
};

std::vector<named_kind> all_kinds() {
  std::vector<named_kind> out;
  const auto add = [&](const char* name, int channels, const jpeg_kind& kind, bool stb = true) {
    out.push_back({name, channels, kind, stb});
  };
  add("gray", 1, {});
  add("4:4:4", 3, {.across = {1, 1, 1}, .down = {1, 1, 1}});
  add("4:2:2", 3, {.across = {2, 1, 1}, .down = {1, 1, 1}});
  add("4:4:0", 3, {.across = {1, 1, 1}, .down = {2, 1, 1}});
  add("4:2:0", 3, {});
  add("4:1:1", 3, {.across = {4, 1, 1}, .down = {1, 1, 1}});
  add("4:1:0", 3, {.across = {4, 1, 1}, .down = {2, 1, 1}});
  add("RGB", 3, {.colors = jpeg_colors::as_given, .across = {1, 1, 1}, .down = {1, 1, 1}});
  add("CMYK", 4, {.colors = jpeg_colors::as_given, .across = {1, 1, 1, 1}, .down = {1, 1, 1, 1}});
  add("YCCK", 4, {.across = {1, 1, 1, 1}, .down = {1, 1, 1, 1}});
  add("YCCK 4:2:0", 4, {});
  add("a scan for each component", 3, {.one_scan_each = true});
  add("quality 5", 3, {.quality = 5});
  add("quality 100", 3, jpeg_kind{.quality = 100});
  const std::size_t plain = out.size();
  for (std::size_t i = 0; i < plain; ++i) {
    named_kind with = out[i];
    with.kind.restart_blocks = 2;
    with.name += ", restart markers";
    out.push_back(with);
    with = out[i];
    if (with.kind.one_scan_each) continue;
    with.kind.progressive = true;
    with.name += ", progressive";
    out.push_back(with);
  }
  add("arithmetic", 3, {.arithmetic = true}, false);
  add("arithmetic progressive", 3, {.progressive = true, .arithmetic = true}, false);
  return out;
}

/// By `decoder`, whichever would be asked first.
lazy_image by(const wick::ext::codec& decoder, const std::string& file, int channels, bool exact = false) {
  wick::bytes encoded = as_bytes(file);
  wick::ext::picture_info info;
  REQUIRE(decoder.probe(encoded.span(), info));
  info.decoder = &decoder;
  decoder.check_complete(encoded.span(), info);
  return lazy_image(std::move(encoded), info, channels, exact);
}

const wick::ext::codec* const decoders[] = {&wick::detail::libjpeg_turbo_codec, &wick::detail::stb_codec};

std::string file_name(const named_kind& k, const std::string& more) {
  std::string out = k.name + more;
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c == ' ' || c == ':' || c == ','; }, '_');
  return out;
}

}  // namespace

TEST_CASE("the pixels of every kind of JPEG are Pillow's") {
  pillow with;
  const std::vector<named_kind> kinds = all_kinds();
  const std::pair<int, int> sizes[] = {{131, 93}, {16, 16}, {5, 3}, {4, 4}, {3, 5}, {2, 2}, {1, 1}};
  const std::pair<const char*, int> modes[] = {{"L", 1}, {"RGB", 3}, {"RGBA", 4}};
  std::vector<std::string> files;
  for (const named_kind& k : kinds) {
    for (const auto& [w, h] : sizes) {
      const std::string name = file_name(k, "_" + std::to_string(w));
      files.push_back(encode_jpeg(photo(w, h, k.channels), k.kind));
      with.write(name, files.back());
      for (const auto& [mode, channels] : modes) {
        const char* const job = channels == 1 && k.channels != 4 ? "load_drafted " : "load ";
        with.job(job + with.path(name) + " " + with.path(name + mode) + " " + mode);
      }
    }
  }
  if (!with.run()) return;
  std::size_t n = 0;
  for (const named_kind& k : kinds) {
    for (const auto& [w, h] : sizes) {
      const std::string name = file_name(k, "_" + std::to_string(w)), &file = files[n++];
      for (const auto& [mode, channels] : modes) {
        CAPTURE(name);
        CAPTURE(mode);
        const image expected = with.pixels(name + mode, w, h, channels);
        // Pillow may bring a libjpeg-turbo of its own, of another version: hence a level.
        const difference by_turbo =
            compare(by(wick::detail::libjpeg_turbo_codec, file, channels).pixels(), expected);
        CHECK(by_turbo.greatest <= 1);
        CHECK(by_turbo.mean <= 0.05);
        if (!k.stb) continue;
        const image got = by(wick::detail::stb_codec, file, channels).pixels();
        CHECK(compare(got, expected).greatest <= 3);
        CHECK(compare(got, expected).mean <= 0.6);
      }
    }
  }
}

namespace {

/// The positions of a file's segments of this marker, before its pixels.
std::vector<std::size_t> segments(const std::string& jpeg, unsigned char marker) {
  std::vector<std::size_t> out;
  const auto byte = [&](std::size_t at) { return std::size_t{static_cast<unsigned char>(jpeg[at])}; };
  for (std::size_t at = 2; at + 4 <= jpeg.size(); at += 2 + (byte(at + 2) << 8 | byte(at + 3))) {
    if (byte(at + 1) == marker) out.push_back(at);
    if (byte(at + 1) == 0xDA) break;
  }
  return out;
}
std::string without_segments(std::string jpeg, unsigned char marker) {
  const auto found = segments(jpeg, marker);
  for (auto at = found.rbegin(); at != found.rend(); ++at) {
    const auto high = static_cast<unsigned char>(jpeg[*at + 2]),
               low = static_cast<unsigned char>(jpeg[*at + 3]);
    jpeg.erase(*at, 2 + (std::size_t{high} << 8 | low));
  }
  return jpeg;
}
/// The components under other names, in the frame header and in the one scan.
std::string with_component_ids(std::string jpeg, const std::string& ids) {
  const std::size_t frame = segments(jpeg, 0xC0).at(0), scan = segments(jpeg, 0xDA).at(0);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    jpeg[frame + 10 + 3 * i] = ids[i];
    jpeg[scan + 5 + 2 * i] = ids[i];
  }
  return jpeg;
}
std::string adobe_marker(int transform) {
  return std::string("Adobe\0\x64\0\0\0\0", 11) + static_cast<char>(transform);
}

}  // namespace

TEST_CASE("whatever markers and component names a JPEG has, both decoders take its colors as Pillow does") {
  pillow with;
  std::vector<std::pair<std::string, std::string>> files;
  const auto add = [&](std::string name, std::string file) {
    std::replace_if(
        name.begin(), name.end(), [](char c) { return c < 33; }, '_');
    with.write(name, file);
    with.job("load " + with.path(name) + " " + with.path(name + "_pixels") + " RGB");
    files.emplace_back(std::move(name), std::move(file));
  };
  const std::string jfif("JFIF\0\1\1\0\0\1\0\1\0\0", 14);
  for (const int components : {3, 4}) {
    const std::string bare = without_segments(
        without_segments(
            encode_jpeg(photo(24, 17, components), {.across = {1, 1, 1, 1}, .down = {1, 1, 1, 1}}), 0xE0),
        0xEE);
    REQUIRE(segments(bare, 0xE0).empty());
    const std::string names[] = {"\1\2\3\4", std::string("\0\1\2\3", 4), "RGBA", "YCcK", "\3\2\1\7"};
    for (std::size_t n = 0; n < std::size(names); ++n) {
      const std::string named =
          with_component_ids(bare, names[n].substr(0, static_cast<std::size_t>(components)));
      for (const bool has_jfif : {false, true}) {
        for (const int transform : {-1, 0, 1, 2, 7}) {
          std::string file = named;
          if (transform >= 0) file = with_jpeg_segment(file, 0xEE, adobe_marker(transform));
          if (has_jfif) file = with_jpeg_segment(file, 0xE0, jfif);
          add("c" + std::to_string(components) + "_ids" + std::to_string(n) + "_jfif" +
                  std::to_string(has_jfif) + "_adobe" + std::to_string(transform),
              file);
        }
      }
    }
    const auto put = [&](const char* name, unsigned char marker, const std::string& payload) {
      add(name + std::to_string(components), with_jpeg_segment(bare, marker, payload));
    };
    put("adobe_too_short", 0xEE, adobe_marker(0).substr(0, 11));
    put("adobe_version_high", 0xEE, std::string("Adobe\1\x64\0\0\0\0\0", 12));
    put("adobe_elsewhere", 0xED, adobe_marker(0));
    put("jfif_too_short", 0xE0, jfif.substr(0, 8));
    put("jfif_extension", 0xE0, "JFXX" + std::string(10, '\0'));
    add("adobe_twice" + std::to_string(components),
        with_jpeg_segment(with_jpeg_segment(bare, 0xEE, adobe_marker(2)), 0xEE, adobe_marker(0)));
    const std::size_t scan = segments(bare, 0xDA).at(0);
    add("adobe_after_frame" + std::to_string(components),
        bare.substr(0, scan) + with_jpeg_segment("\xFF\xD8", 0xEE, adobe_marker(0)).substr(2) +
            bare.substr(scan));
  }
  const bool pillow_is_here = with.run();
  for (const auto& [name, file] : files) {
    CAPTURE(name);
    const image turbo = by(wick::detail::libjpeg_turbo_codec, file, 3).pixels();
    CHECK(compare(by(wick::detail::stb_codec, file, 3).pixels(), turbo).greatest <= 3);
    CHECK(compare(by(wick::detail::stb_codec, file, 1).pixels(),
                  by(wick::detail::libjpeg_turbo_codec, file, 1).pixels())
              .greatest <= 3);
    if (pillow_is_here) CHECK(compare(turbo, with.pixels(name + "_pixels", 24, 17, 3)).greatest <= 1);
  }
}

TEST_CASE("tables that a JPEG leaves out are the standard's, as in frames of Motion JPEG, or an error") {
  const image from = photo(48, 33);
  const std::string whole = encode_jpeg(from, jpeg_kind{}), tables = without_segments(whole, 0xC4);
  REQUIRE(tables.size() < whole.size());
  for (const wick::ext::codec* decoder : decoders) {
    CAPTURE(decoder->name);
    CHECK(by(*decoder, tables, 3).pixels() == by(*decoder, whole, 3).pixels());
    CHECK(contains(message_of([&] { return by(*decoder, without_segments(whole, 0xDB), 3).pixels(); }),
                   "JPEG", "uantization table"));
    // Of the four tables the last is left: the other three are the standard's.
    const std::size_t last = segments(whole, 0xC4).back();
    const std::string one =
        tables.substr(0, 2) + whole.substr(last, segments(whole, 0xDA).at(0) - last) + tables.substr(2);
    CHECK(by(*decoder, one, 3).pixels() == by(*decoder, whole, 3).pixels());
  }
  // A scan that names a table which the file does not have.
  std::string other = whole;
  other[segments(other, 0xDA).at(0) + 6] = '\x32';
  for (const wick::ext::codec* decoder : decoders) {
    CHECK(contains(message_of([&] { return by(*decoder, other, 3).pixels(); }), "JPEG", "Huffman table"));
  }
}

TEST_CASE("stb_image refuses a JPEG that it would read as other pixels than libjpeg-turbo") {
  const auto refusal = [](const std::string& file) {
    return message_of([&] { return by(wick::detail::stb_codec, file, 3).pixels(); });
  };
  const std::string whole = encode_jpeg(photo(64, 48), {.restart_blocks = 2});
  std::string lacking = whole;
  lacking.erase(lacking.find("\xFF\xD3"), 2);
  CHECK(contains(refusal(lacking), "4 restart markers where 5 should be"));  // twelve units, two by two
  CHECK(refusal(whole).empty());

  const std::string separate = encode_jpeg(photo(64, 48), {.one_scan_each = true});
  const std::size_t last = separate.rfind("\xFF\xDA");
  CHECK(contains(refusal(separate.substr(0, last) + "\xFF\xD9"), "no pixels of component 3"));

  std::string changing = encode_jpeg(photo(64, 48), {.progressive = true});
  const std::size_t table = segments(changing, 0xDB).at(0), second = changing.rfind("\xFF\xDA");
  std::string again = changing.substr(table, 69);
  CHECK(refusal(changing.substr(0, second) + again + changing.substr(second)).empty());  // the same once more
  again[20] = static_cast<char>(again[20] + 1);
  CHECK(contains(refusal(changing.substr(0, second) + again + changing.substr(second)),
                 "quantization tables that change", "libjpeg-turbo"));

  CHECK(contains(refusal(encode_jpeg(photo(16, 16), {.arithmetic = true})), "arithmetic coding",
                 "libjpeg-turbo"));
}

TEST_CASE("nearest takes pixels of the picture itself, never of a smaller one") {
  image stripes(64, 64, 1);
  for (int y = 0; y < 64; ++y) {
    for (int x = 0; x < 64; ++x) stripes.row(y)[x] = x % 2 == 0 ? 0 : 255;
  }
  const std::string file = encode_jpeg(stripes, jpeg_kind{.quality = 100});
  for (const wick::ext::codec* decoder :
       {&wick::detail::jpeg_codec, &wick::detail::libjpeg_turbo_codec, &wick::detail::stb_codec}) {
    lazy_image picture = by(*decoder, file, 1, false);
    picture.resize(32, 32, wick::interpolation::nearest);
    const image found = std::move(picture).pixels();
    for (int x = 0; x < 32; ++x) CHECK(found.row(0)[x] > 240);  // column 2 x + 1
  }
}

TEST_CASE("a resized crop of every kind is Pillow's: exactly on request, nearly when the decoder scales") {
  pillow with;
  const std::vector<named_kind> kinds = all_kinds();
  const int jobs[][6] = {{0, 0, 203, 149, 224, 224}, {0, 0, 203, 149, 64, 64}, {31, 17, 150, 120, 61, 33},
                         {101, 60, 102, 89, 20, 17}, {3, 5, 41, 57, 96, 96},   {190, 148, 1, 1, 8, 8}};
  std::vector<std::string> files;
  for (const named_kind& k : kinds) {
    files.push_back(encode_jpeg(photo(203, 149, k.channels), k.kind));
    if (k.channels == 4) continue;  // Pillow resizes those as CMYK
    const std::string name = with.write(file_name(k, ""), files.back());
    int n = 0;
    for (const auto& j : jobs) {
      std::string line = "resize " + name + " " + name + std::to_string(n++);
      for (const int v : j) line += " " + std::to_string(v);
      with.job(line + " bilinear");
    }
  }
  if (!with.run()) return;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const named_kind& k = kinds[i];
    if (k.channels == 4) continue;
    int n = 0;
    for (const auto& j : jobs) {
      const image expected = with.pixels(file_name(k, std::to_string(n++)), j[4], j[5], k.channels);
      const auto resized = [&](const wick::ext::codec& decoder, bool exact) {
        lazy_image picture = by(decoder, files[i], k.channels, exact);
        picture.crop({j[0], j[1], j[2], j[3]});
        picture.resize(j[4], j[5]);
        return std::move(picture).pixels();
      };
      CAPTURE(k.name);
      CAPTURE(n);
      const image exact = resized(wick::detail::libjpeg_turbo_codec, true);
      CHECK(compare(exact, expected).greatest <= 2);
      CHECK(compare(exact, expected).mean <= 0.6);
      // Fewer pixels to begin with, and still fewer colors where they are not halved both ways.
      const difference scaled = compare(resized(wick::detail::libjpeg_turbo_codec, false), expected);
      CHECK(scaled.mean <= (k.kind.across == k.kind.down || k.channels == 1 ? 2 : 7));
      if (!k.stb) continue;
      const image other = resized(wick::detail::stb_codec, true);
      CHECK(compare(other, expected).mean <= (j[2] == 1 ? 1 : 0.6));
    }
  }
}

TEST_CASE("a part of every kind is that part of the whole, resized or not, wherever it touches the border") {
  const int width = 67, height = 53;
  wick::random_stream random(5, 0, 0, 0);
  for (const named_kind& k : all_kinds()) {
    const std::string file = encode_jpeg(photo(width, height, k.channels), k.kind);
    for (const wick::ext::codec* decoder : decoders) {
      if (decoder == &wick::detail::stb_codec && !k.stb) continue;
      for (int channels = 1; channels <= 4; ++channels) {
        const image whole = by(*decoder, file, channels).pixels();
        for (int borders = 0; borders < 16; ++borders) {  // 1 left, 2 right, 4 top, 8 bottom
          const auto some = [&](int most) {
            return static_cast<int>(random.below(static_cast<std::uint64_t>(most)));
          };
          const int left = borders & 1 ? 0 : 1 + some(30), right = borders & 2 ? width : width - 1 - some(30);
          const int top = borders & 4 ? 0 : 1 + some(20),
                    bottom = borders & 8 ? height : height - 1 - some(20);
          lazy_image part = by(*decoder, file, channels, true), same(whole);
          for (lazy_image* p : {&part, &same}) {
            p->crop({left, top, right - left, bottom - top});
            if (borders % 3 == 0)
              p->resize(24, 31, borders % 2 ? interpolation::bicubic : interpolation::bilinear);
          }
          CAPTURE(k.name);
          CAPTURE(decoder->name);
          CAPTURE(channels);
          CAPTURE(borders);
          CHECK(std::move(part).pixels() == std::move(same).pixels());
        }
      }
    }
  }
}

TEST_CASE("a part of every kind is that part of the whole at every scale") {
  const int width = 203, height = 149;
  wick::random_stream random(6, 0, 0, 0);
  for (const named_kind& k : all_kinds()) {
    const std::string file = encode_jpeg(photo(width, height, k.channels), k.kind);
    const auto data = std::as_bytes(std::span(file));
    wick::ext::picture_info info;
    REQUIRE(wick::detail::libjpeg_turbo_codec.probe(data, info));
    for (const double asked : {1.0, 0.5, 0.25, 0.125}) {
      const auto whole =
          wick::detail::libjpeg_turbo_codec.decode(data, info, {{0, 0, width, height}, asked, 3});
      const double scale = whole.scale;
      REQUIRE(scale >= asked);
      for (int round = 0; round < 12; ++round) {
        const auto below = [&](int n) {
          return static_cast<int>(random.below(static_cast<std::uint64_t>(n)));
        };
        wick::rect r{below(width), below(height), 0, 0};
        r.width = 1 + below(width - r.x);
        r.height = 1 + below(height - r.y);
        const auto got = wick::detail::libjpeg_turbo_codec.decode(data, info, {r, asked, 3});
        REQUIRE(got.scale == scale);
        const int left = static_cast<int>(got.left * scale), top = static_cast<int>(got.top * scale);
        const int x0 = static_cast<int>(r.x * scale), x1 = static_cast<int>((r.x + r.width - 1) * scale);
        const int y0 = static_cast<int>(r.y * scale), y1 = static_cast<int>((r.y + r.height - 1) * scale);
        CAPTURE(k.name);
        CAPTURE(scale);
        CAPTURE(round);
        REQUIRE(x0 >= left);
        REQUIRE(y0 >= top);
        REQUIRE(x1 - left < got.pixels.width());
        REQUIRE(y1 - top < got.pixels.height());
        bool same = true;
        for (int y = y0; y <= y1; ++y) {
          same = same && std::equal(whole.pixels.row(y) + x0 * 3, whole.pixels.row(y) + (x1 + 1) * 3,
                                    got.pixels.row(y - top) + (x0 - left) * 3);
        }
        CHECK(same);
      }
    }
  }
}

TEST_CASE("a JPEG that breaks off is filled as Pillow fills it") {
  pillow with;
  std::vector<std::pair<std::string, std::string>> cut;
  for (const named_kind& k : all_kinds()) {
    // Pillow does not take arithmetic coding in pieces; and what is cut at quality 5 goes far out of range,
    // where libjpeg-turbo's versions and instruction sets differ.
    if (k.channels == 4 || k.kind.arithmetic || k.kind.quality == 5) continue;
    const std::string whole = encode_jpeg(photo(131, 93, k.channels), k.kind);
    const std::size_t pixels = whole.find("\xFF\xDA") + 16;
    for (const int percent : {1, 37, 70, 95}) {
      const std::size_t size = pixels + (whole.size() - pixels) * static_cast<std::size_t>(percent) / 100;
      cut.emplace_back(file_name(k, "_" + std::to_string(percent)), whole.substr(0, size));
      const std::string name = with.write(cut.back().first, cut.back().second);
      with.job("load_truncated " + name + " " + name + "_pixels RGB");
    }
  }
  if (!with.run()) return;
  wick::ext::codecs().add(wick::detail::libjpeg_turbo_codec);
  wick::context context = context_at(0);
  int compared = 0;
  for (const auto& [name, file] : cut) {
    CAPTURE(name);
    CHECK(contains(message_of([&] { return wick::decode()(as_bytes(file), context); }), "truncated JPEG"));
    image got;
    const std::string text = message_of([&] {
      got = wick::decode({.allow_truncated = true})(as_bytes(file), context).pixels();
      return 0;
    });
    if (!text.empty()) {  // within the parameters of a later scan there is nothing to be filled
      CHECK(contains(text, "JPEG"));
      continue;
    }
    ++compared;
    const difference d = compare(got, with.pixels(name + "_pixels", 131, 93, 3));
    CHECK(d.greatest <= 1);
  }
  CHECK(compared > static_cast<int>(cut.size()) * 3 / 4);
}

TEST_CASE("a JPEG is turned as its EXIF orientation says, as Pillow turns it, before any other geometry") {
  pillow with;
  const image from = photo(61, 37);
  std::vector<std::string> files;
  for (int orientation = 0; orientation <= 9; ++orientation) {
    for (const bool little : {true, false}) {
      // A TIFF header, and a directory of one entry: tag 0x0112, one number of two bytes.
      const std::string exif = std::string("Exif\0\0", 6) +
                               (little ? std::string("II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0", 18) +
                                             static_cast<char>(orientation) + std::string(7, '\0')
                                       : std::string("MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0", 19) +
                                             static_cast<char>(orientation) + std::string(6, '\0'));
      files.push_back(with_jpeg_segment(encode_jpeg(from), 0xE1, exif));
      const std::string name = with.write("turned" + std::to_string(files.size()), files.back());
      with.job("load_turned " + name + " " + name + "_pixels RGB");
    }
  }
  if (!with.run()) return;
  wick::ext::codecs().add(wick::detail::libjpeg_turbo_codec);
  wick::context context = context_at(0);
  for (std::size_t i = 0; i < files.size(); ++i) {
    const int orientation = static_cast<int>(i / 2);
    const bool sideways = orientation >= 5 && orientation <= 8;
    const int w = sideways ? 37 : 61, h = sideways ? 61 : 37;
    const image expected = with.pixels("turned" + std::to_string(i + 1) + "_pixels", w, h, 3);
    lazy_image got = wick::decode({.orient = true})(as_bytes(files[i]), context), same(expected);
    CAPTURE(orientation);
    REQUIRE(got.extents() == wick::shape{h, w, 3});
    CHECK(compare(std::as_const(got).pixels(), expected).greatest <= 1);
    for (lazy_image* p : {&got, &same}) {
      p->crop({3, 5, 30, 25});
      p->resize(20, 20);
    }
    CHECK(compare(std::move(got).pixels(), std::move(same).pixels()).mean <= 2);
    CHECK(wick::decode()(as_bytes(files[i]), context).width() == 61);  // not unless asked
  }
}

TEST_CASE("a color profile is not applied") {
  const std::string plain = encode_jpeg(photo(40, 30));
  const std::string profiled =
      with_jpeg_segment(plain, 0xE2, std::string("ICC_PROFILE\0\x01\x01", 14) + std::string(3000, 'x'));
  for (const wick::ext::codec* decoder : decoders)
    CHECK(by(*decoder, profiled, 3).pixels() == by(*decoder, plain, 3).pixels());
}

#endif

}  // namespace wick_test::jpeg_kinds_tests
