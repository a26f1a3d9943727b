// Places in JPEGs that are kept from epoch to epoch: the pixels of a crop must be those of a decoding without
// them, whatever is known, and whatever is wrong.
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
#include <wick/codec/detail/crop_index.hpp>
#include <wick/codec/detail/jpeg.hpp>

namespace wick_test::crop_index_tests {

#ifdef WICK_TEST_LIBJPEG_TURBO

using wick::image;
using wick::detail::crop_index, wick::detail::jpeg_place, wick::rect;

namespace {

using generator = std::mt19937_64;
std::size_t below(generator& r, std::size_t n) { return static_cast<std::size_t>(r() % n); }

constexpr std::size_t enough = std::size_t{1} << 24;

struct outcome {
  image pixels;
  std::string error;
  bool misplaced = false;
  friend bool operator==(const outcome&, const outcome&) = default;
};

outcome decoded(const std::string& file, const rect& part, crop_index* index, double scale = 1,
                int channels = 3) {
  const auto data = std::as_bytes(std::span(file));
  const wick::ext::codec& codec = wick::detail::jpeg_codec;
  const std::size_t dropped = index == nullptr ? 0 : index->dropped();
  outcome out;
  out.error = message_of([&] {
    wick::ext::picture_info info;
    if (!codec.probe(data, info)) throw wick::error("not for this decoder");
    out.pixels = codec.decode(data, info, {part, scale, channels, false, index}).pixels;
    return 0;
  });
  out.misplaced = index != nullptr && index->dropped() != dropped;
  return out;
}

rect random_part(generator& r, int width, int height) {
  const int x = static_cast<int>(below(r, static_cast<std::size_t>(width))),
            y = static_cast<int>(below(r, static_cast<std::size_t>(height)));
  return {x, y, 1 + static_cast<int>(below(r, static_cast<std::size_t>(width - x))),
          1 + static_cast<int>(below(r, static_cast<std::size_t>(height - y)))};
}

jpeg_kind random_kind(generator& r, bool ycc) {
  constexpr std::array<int, 4> across[] = {{1, 1, 1, 1}, {2, 1, 1, 2}, {2, 1, 1, 2}, {4, 1, 1, 4}},
                               down[] = {{1, 1, 1, 1}, {1, 1, 1, 1}, {2, 1, 1, 2}, {1, 1, 1, 1}};
  const std::size_t sampling = below(r, 4);
  jpeg_kind kind{.quality = 20 + static_cast<int>(below(r, 80)),
                 .progressive = below(r, 16) == 0,
                 .colors = ycc ? jpeg_colors::ycc : jpeg_colors::as_given,
                 .restart_blocks = below(r, 3) == 0 ? 1 + static_cast<unsigned>(below(r, 30)) : 0,
                 .one_scan_each = below(r, 16) == 0};
  if (ycc) kind.across = across[sampling], kind.down = down[sampling];
  return kind;
}

/// The places of a file that was walked from end to end.
std::vector<jpeg_place> places_of(const std::string& file, int width, int height) {
  crop_index index(enough);
  REQUIRE(decoded(file, {width - 1, 0, 1, height}, &index).error.empty());
  wick::detail::jpeg_walk walk;
  // Of as many MCUs as there could be: begin() wants a walk that has room for all.
  walk.begin({}, {}, 0, 256, 1024);
  index.begin(crop_index::key_of(std::as_bytes(std::span(file))), walk);
  return {walk.places().begin(), walk.places().end()};
}

}  // namespace

TEST_CASE("a crop has the same pixels with the places of earlier crops, in files of every kind") {
  generator r(1);
  std::size_t known = 0;
  for (int round = 0; round < 150; ++round) {
    CAPTURE(round);
    const int channels = std::array{1, 3, 3, 4}[below(r, 4)], width = 1 + static_cast<int>(below(r, 500)),
              height = 1 + static_cast<int>(below(r, 200));
    const std::string file = encode_jpeg(photo(width, height, channels, static_cast<std::uint64_t>(round)),
                                         random_kind(r, below(r, 4) != 0));
    crop_index index(enough);
    for (int crop = 0; crop < 12; ++crop) {
      CAPTURE(crop);
      const rect part = random_part(r, width, height);
      const double scale = std::array{1.0, 1.0, 0.5, 0.25, 0.125}[below(r, 5)];
      const int wanted = std::array{1, 3, 4}[below(r, 3)];
      REQUIRE(decoded(file, part, &index, scale, wanted) == decoded(file, part, nullptr, scale, wanted));
    }
    known += index.pictures();
    CHECK(index.dropped() == 0);
  }
  CHECK(known > 60);
}

TEST_CASE("damaged files and files that break off are decoded as without places") {
  generator r(2);
  for (int round = 0; round < 200; ++round) {
    CAPTURE(round);
    const int width = 60 + static_cast<int>(below(r, 300)), height = 40 + static_cast<int>(below(r, 150));
    std::string file =
        encode_jpeg(photo(width, height, 3, static_cast<std::uint64_t>(round)), random_kind(r, true));
    const std::size_t from = file.find("\xFF\xDA") + 14;
    for (std::size_t n = 1 + below(r, 3); n > 0 && file.size() > from + 2; --n) {
      const std::size_t at = from + below(r, file.size() - 2 - from);
      switch (below(r, 6)) {
        case 0:
          file.erase(at, 1 + below(r, 4));
          break;
        case 1:
          file.insert(at, 1 + below(r, 4), static_cast<char>(r()));
          break;
        case 2:
          file.insert(at, {'\xFF', static_cast<char>(0xD0 + below(r, 10))});
          break;
        case 3:
          file.resize(at);
          break;
        case 4:
          file.resize(at);
          file += "\xFF\xD9";
          break;
        default:
          file[at] = static_cast<char>(file[at] ^ 1 << below(r, 8));
      }
    }
    crop_index index(enough);
    for (int crop = 0; crop < 10; ++crop) {
      CAPTURE(crop);
      const rect part = random_part(r, width, height);
      outcome with = decoded(file, part, &index);
      if (with.misplaced) {  // near an end without a marker a reader that starts elsewhere may give up
                             // earlier
        CHECK(!file.ends_with("\xFF\xD9"));
        with = decoded(file, part, nullptr);
      }
      REQUIRE(with == decoded(file, part, nullptr));
    }
  }
}

TEST_CASE("a place that is wrong by one in any of its fields is found before it makes a pixel") {
  generator r(3);
  for (const jpeg_kind& kind :
       {jpeg_kind{}, jpeg_kind{.across = {1, 1, 1, 1}, .down = {1, 1, 1, 1}}, jpeg_kind{.restart_blocks = 5},
        jpeg_kind{.across = {2, 1, 1, 2}, .down = {1, 1, 1, 1}}}) {
    const int width = 300, height = 90;
    const std::string file = encode_jpeg(photo(width, height), kind);
    const std::uint64_t key = crop_index::key_of(std::as_bytes(std::span(file)));
    const std::vector<jpeg_place> good = places_of(file, width, height);
    REQUIRE(good.size() > 12);
    const auto side = [](const std::array<int, 4>& blocks) { return 8 * *std::ranges::max_element(blocks); };
    const std::size_t columns = static_cast<std::size_t>((width - 1) / side(kind.across) + 1);
    const std::size_t each_row =
        (columns + wick::detail::jpeg_walk::stride - 1) / wick::detail::jpeg_walk::stride;
    /// Pixels of the MCU at a place, and none of the MCU in front of it or of one at another place.
    const auto pixels_at = [&](std::size_t place) {
      const auto x = static_cast<int>(place % each_row * wick::detail::jpeg_walk::stride) * side(kind.across),
                 y = static_cast<int>(place / each_row) * side(kind.down);
      return y < height ? rect{x + 2, y + 2, 3, 3} : rect{width - 1, height - 1, 1, 1};
    };
    std::size_t found = 0;
    for (std::size_t i = 0; i < good.size(); ++i) {
      for (unsigned field = 0; field < 5; ++field) {
        for (const int by : {1, -1, 8, -8}) {
          CAPTURE(i);
          CAPTURE(field);
          CAPTURE(by);
          std::vector<jpeg_place> wrong = good;
          if (field == 0) {
            wrong[i].bit += static_cast<std::uint32_t>(by);
          } else {
            wrong[i].last_dc[field - 1] = static_cast<std::uint16_t>(wrong[i].last_dc[field - 1] + by);
          }
          crop_index index(enough);
          index.keep(key, wrong, wrong.size());
          for (int crop = 0; crop < 3; ++crop) {
            const rect part = crop == 0   ? pixels_at(i)
                              : crop == 1 ? rect{1, 1, width - 1, height - 1}
                                          : random_part(r, width, height);
            const outcome with = decoded(file, part, &index);
            CHECK(index.dropped() == (with.misplaced ? 1 : 0));
            const outcome without = decoded(file, part, nullptr);
            REQUIRE(with.pixels == without.pixels);
            REQUIRE(with.error == without.error);
            if (with.misplaced) {
              CHECK(index.pictures() == 0);
              ++found;
              break;
            }
          }
        }
      }
    }
    CHECK(found > good.size() * 5 * 2);
  }
}

TEST_CASE("the last place of a file that was walked in part is checked as all others are") {
  const int width = 300, height = 90;
  const std::string file = encode_jpeg(photo(width, height), jpeg_kind{});
  const std::uint64_t key = crop_index::key_of(std::as_bytes(std::span(file)));
  const std::vector<jpeg_place> good = places_of(file, width, height);
  for (std::size_t count = 2; count <= good.size(); ++count) {
    CAPTURE(count);
    std::vector<jpeg_place> some(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(count));
    for (const bool wrong : {false, true}) {
      if (wrong) some.back().last_dc[0] ^= 1;
      crop_index index(enough);
      index.keep(key, some, good.size());
      const rect corner{width - 1, height - 1, 1, 1};
      const outcome with = decoded(file, corner, &index);
      CHECK(with.misplaced == wrong);
      CHECK(with.pixels == decoded(file, corner, nullptr).pixels);
    }
  }
}

TEST_CASE("places of anything, and more or fewer than a file has, never end otherwise") {
  generator r(4);
  const int width = 300, height = 90;
  const std::string file = encode_jpeg(photo(width, height), jpeg_kind{.restart_blocks = 7});
  const std::uint64_t key = crop_index::key_of(std::as_bytes(std::span(file)));
  const std::vector<jpeg_place> good = places_of(file, width, height);
  for (int round = 0; round < 300; ++round) {
    CAPTURE(round);
    std::vector<jpeg_place> some = good;
    const bool invented = round % 2 == 0;
    some.resize(1 + below(r, good.size() + (invented ? 20 : 0)));
    if (invented) {
      for (jpeg_place& place : some) {
        if (below(r, 2) != 0) place.bit = static_cast<std::uint32_t>(r() >> below(r, 64));
        if (below(r, 4) == 0) place.last_dc[below(r, 4)] = static_cast<std::uint16_t>(r());
      }
    }
    crop_index index(enough);
    index.keep(key, some, some.size());
    const rect part = random_part(r, width, height);
    const outcome with = decoded(file, part, &index);
    CHECK((invented || !with.misplaced));
    CHECK(with.pixels == decoded(file, part, nullptr).pixels);
  }
}

TEST_CASE("a file that was changed by a bit anywhere has places of its own") {
  generator r(5);
  const int width = 200, height = 120;
  const std::string file = encode_jpeg(photo(width, height), jpeg_kind{});
  crop_index index(enough);
  decoded(file, {width - 1, 0, 1, height}, &index);
  REQUIRE(index.pictures() == 1);
  const std::size_t from = file.find("\xFF\xDA") + 14;
  for (int round = 0; round < 200; ++round) {
    CAPTURE(round);
    std::string changed = file;
    const std::size_t at = from + below(r, file.size() - 2 - from);
    changed[at] = static_cast<char>(changed[at] ^ 1 << below(r, 8));
    const rect part = random_part(r, width, height);
    REQUIRE(decoded(changed, part, &index) == decoded(changed, part, nullptr));
  }
  CHECK(index.dropped() == 0);
}

TEST_CASE("an index takes no more than its bytes, and then says so; what is in it is used on") {
  generator r(6);
  std::vector<std::string> files;
  for (std::uint64_t i = 0; i < 20; ++i) files.push_back(encode_jpeg(photo(160, 120, 3, i), jpeg_kind{}));
  crop_index index(2000);
  CHECK(index.note().empty());
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (const std::string& file : files) {
      const rect part = random_part(r, 160, 120);
      REQUIRE(decoded(file, part, &index) == decoded(file, part, nullptr));
    }
  }
  CHECK(index.pictures() > 3);
  CHECK(index.pictures() < 20);
  CHECK(index.bytes() <= 2000);
  CHECK(contains(index.note(), "is full with " + std::to_string(index.pictures()), "crop_index_bytes"));
}

TEST_CASE("places come back as they were packed, whatever they are") {
  generator r(9);
  for (int round = 0; round < 300; ++round) {
    const std::size_t n = below(r, 100), components = below(r, 5);
    std::vector<jpeg_place> places(n);
    for (jpeg_place& p : places) {
      p.bit = static_cast<std::uint32_t>(r());
      for (std::size_t c = 0; c < components; ++c)
        p.last_dc[c] = static_cast<std::uint16_t>(round % 2 == 0 ? r() : below(r, 200) - 100);
    }
    wick::detail::packed_places packed;
    for (int twice = 0; twice < 2; ++twice) {
      packed.assign(places, n + 3);
      std::vector<jpeg_place> out;
      packed.unpack(out);
      REQUIRE(out == places);
    }
    CHECK(packed.size() == n);
    CHECK(packed.total() == n + 3);
  }
}

TEST_CASE("a full index looks no longer at files that came later") {
  std::vector<std::string> files;
  for (std::uint64_t i = 0; i < 40; ++i) files.push_back(encode_jpeg(photo(160, 120, 3, i), jpeg_kind{}));
  crop_index index(2000);
  std::size_t wanted = 0;
  for (int epoch = 0; epoch < 2; ++epoch) {
    wanted = 0;
    for (const std::string& file : files) {
      wanted += index.may_have(std::as_bytes(std::span(file))) ? 1 : 0;
      decoded(file, {80, 60, 80, 60}, &index);
    }
  }
  CHECK(index.full());
  CHECK(wanted >= index.pictures());
  CHECK(wanted <= index.pictures() + 2);  // the one that did not fit, and one with the bit of another
}

TEST_CASE("the places of a photograph of 500 x 375 px take less than 1.5 % of its bytes") {
  crop_index index(enough);
  const std::string file = encode_jpeg(photo(500, 375), jpeg_kind{});
  decoded(file, {100, 0, 400, 375}, &index);
  CHECK(index.pictures() == 1);
  CHECK(index.bytes() > 500);
  CHECK(index.bytes() < 1000);
}

TEST_CASE("a wrong entry is dropped, and made again by the next decoding") {
  const std::string file = encode_jpeg(photo(160, 120), jpeg_kind{});
  crop_index index(enough);
  std::vector<jpeg_place> places = places_of(file, 160, 120);
  places[1].last_dc[0] ^= 1;
  index.keep(crop_index::key_of(std::as_bytes(std::span(file))), places, places.size());
  CHECK(decoded(file, {1, 1, 159, 119}, &index).misplaced);
  CHECK(contains(index.note(), "wrong at 1 pictures"));
  for (int i = 0; i < 2; ++i) {
    CHECK(decoded(file, {1, 1, 159, 119}, &index) == decoded(file, {1, 1, 159, 119}, nullptr));
    CHECK(index.pictures() == 1);
  }
  CHECK(index.dropped() == 1);
}

TEST_CASE("threads share an index") {
  std::vector<std::string> files;
  for (std::uint64_t i = 0; i < 4; ++i) files.push_back(encode_jpeg(photo(200, 150, 3, i), jpeg_kind{}));
  crop_index index(enough);
  std::array<int, 4> differ{};
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < differ.size(); ++t) {
    threads.emplace_back([&, t] {
      generator r(t);
      for (int i = 0; i < 60; ++i) {
        const std::string& file = files[below(r, files.size())];
        const rect part = random_part(r, 200, 150);
        if (decoded(file, part, &index) != decoded(file, part, nullptr)) ++differ[t];
      }
    });
  }
  for (std::thread& t : threads) t.join();
  CHECK(differ == std::array<int, 4>{});
  CHECK(index.pictures() == 4);
}

#endif

}  // namespace wick_test::crop_index_tests
