// Rows that come one after another give the pixels of a picture that is there at once.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "../support/picture.hpp"
#include <wick/ext/row_sink.hpp>
#include <wick/pipeline/random.hpp>
#include <wick/pixels/detail/resample.hpp>

namespace wick_test::row_sink_tests {

using wick::image;
using wick::interpolation;
using wick::detail::plan;
using wick::detail::row_resampler;

namespace {

int below(wick::random_stream& random, int n) {
  return static_cast<int>(random.below(static_cast<std::uint64_t>(n)));
}

/// Sends the part of `from` at (left, top) as a decoder would, in bites of any size. How many rows were
/// taken.
int send(row_resampler& sink, const image& from, wick::rect part, wick::random_stream& random) {
  sink.begin({part.width, part.height, from.channels(), part.x, part.y, 1.0});
  int sent = 0;
  while (sent < part.height) {
    const auto room = sink.room();
    if (room.empty()) break;
    const int n = 1 + below(random, static_cast<int>(room.size()));
    for (std::size_t k = 0; k < room.size(); ++k) {  // the rest of the room may be written too
      if (sent + static_cast<int>(k) >= part.height) break;
      std::memcpy(room[k], from.row(part.y + sent + static_cast<int>(k)) + part.x * from.channels(),
                  static_cast<std::size_t>(part.width * from.channels()));
    }
    sink.written(n);
    sent += n;
  }
  return sent;
}

}  // namespace

TEST_CASE("a plan over rows that come one by one gives the pixels of the plan over the whole picture") {
  wick::random_stream random(5, 0, 0, 0);
  for (int round = 0; round < 500; ++round) {
    const int channels = 1 + round % 4;
    const image from = photo(20 + below(random, 80), 20 + below(random, 80), channels, 4);
    plan p = plan::whole(from.width(), from.height());
    const int w = 1 + below(random, from.width()), h = 1 + below(random, from.height());
    compose_crop(p, {below(random, from.width() - w + 1), below(random, from.height() - h + 1), w, h});
    if (round % 5 != 0) {
      const auto filter = static_cast<interpolation>(random.below(3));
      compose_resize(p, 1 + below(random, 90), 1 + below(random, 90), filter);
      const int cw = 1 + below(random, p.output_width()), ch = 1 + below(random, p.output_height());
      compose_crop(
          p, {below(random, p.output_width() - cw + 1), below(random, p.output_height() - ch + 1), cw, ch});
    }
    p.mirror_x = random.bernoulli(0.4);
    p.mirror_y = random.bernoulli(0.4);
    const image expected = resample(from.view(), p);
    for (const bool planar : {false, true}) {
      std::vector<std::uint8_t> out(expected.pixels().size()), wanted(out.size());
      expected.write_to({reinterpret_cast<std::byte*>(wanted.data()), planar});
      const auto target = planar ? wick::detail::picture_target::planar(out.data(), p.output_width(),
                                                                        p.output_height(), channels)
                                 : wick::detail::picture_target::interleaved(out.data(), p.output_width(),
                                                                             p.output_height(), channels);
      wick::detail::resample_lease scratch;
      wick::detail::build_axes(p, 1.0, 0, 0, *scratch);
      const auto &columns = (*scratch).columns, &rows = (*scratch).rows;
      // What is needed, and sometimes a margin.
      const int x = std::max(0, columns.low() - below(random, 3)),
                y = std::max(0, rows.low() - below(random, 3));
      const wick::rect part{x, y, std::min(from.width(), columns.high() + below(random, 3)) - x,
                            std::min(from.height(), rows.high() + below(random, 3)) - y};
      row_resampler sink(p, *scratch, target);
      send(sink, from, part, random);
      CAPTURE(round);
      CHECK(sink.finished());
      CHECK(out == wanted);
    }
  }
}

TEST_CASE("a sink that is begun again, at another scale too, gives the pixels of the last beginning") {
  const image from = photo(60, 44, 3, 4), half = [&] {
    plan smaller = plan::whole(60, 44);
    compose_resize(smaller, 30, 22, interpolation::bilinear);
    return resample(from.view(), smaller);
  }();
  plan p = plan::whole(60, 44);
  compose_resize(p, 25, 19, interpolation::bilinear);
  const auto pixels_of = [&](const std::vector<std::pair<double, int>>& beginnings) {  // scales, rows
    std::vector<std::uint8_t> out(25 * 19 * 3);
    wick::detail::resample_lease scratch;
    wick::detail::build_axes(p, 1.0, 0, 0, *scratch);
    row_resampler sink(p, *scratch, wick::detail::picture_target::interleaved(out.data(), 25, 19, 3));
    for (const auto& [scale, rows] : beginnings) {
      const image& in = scale == 1.0 ? from : half;
      sink.begin({in.width(), in.height(), 3, 0, 0, scale});
      for (int y = 0; y < rows; ++y) {
        const auto room = sink.room();
        if (room.empty()) break;
        std::memcpy(room[0], in.row(y), static_cast<std::size_t>(in.width()) * 3);
        sink.written(1);
      }
    }
    CHECK(sink.finished());
    return out;
  };
  const auto whole = pixels_of({{1.0, 44}}), scaled = pixels_of({{0.5, 22}});
  CHECK(whole != scaled);
  for (const int rows : {0, 1, 9, 22}) {
    CAPTURE(rows);
    CHECK(pixels_of({{0.5, rows}, {1.0, 44}}) == whole);
    CHECK(pixels_of({{1.0, rows}, {0.5, 22}}) == scaled);
    CHECK(pixels_of({{1.0, rows}, {1.0, 44}}) == whole);
  }
}

TEST_CASE("a sink wants no rows after the last that it needs, and keeps few") {
  const image from = photo(64, 400);
  plan p = plan::whole(64, 400);
  compose_crop(p, {0, 10, 64, 100});
  compose_resize(p, 32, 50, interpolation::bilinear);
  image out(32, 50, 3);
  wick::detail::resample_lease scratch;
  wick::detail::build_axes(p, 1.0, 0, 0, *scratch);
  row_resampler sink(p, *scratch, wick::detail::picture_target::interleaved(out.data(), 32, 50, 3));
  wick::random_stream random(1, 0, 0, 0);
  (*scratch).ring.clear();
  CHECK(send(sink, from, {0, 0, 64, 400}, random) < 120);
  CHECK(sink.finished());
  CHECK((*scratch).ring.size() <= 16 * 192);
  CHECK(out == resample(from.view(), p));
}

TEST_CASE("rows of a picture that is only copied are decoded into their place") {
  const image from = photo(40, 30);
  const plan p = plan::whole(40, 30);
  image out(40, 30, 3);
  wick::detail::resample_lease scratch;
  wick::detail::build_axes(p, 1.0, 0, 0, *scratch);
  row_resampler sink(p, *scratch, wick::detail::picture_target::interleaved(out.data(), 40, 30, 3));
  sink.begin({40, 30, 3, 0, 0, 1.0});
  CHECK(sink.room()[0] == out.row(0));
  sink.written(3);
  CHECK(sink.room()[0] == out.row(3));
}

TEST_CASE("a decoder that gives less than it was asked for is found out") {
  const plan p = plan::whole(40, 30);
  image out(40, 30, 3);
  wick::detail::resample_lease scratch;
  wick::detail::build_axes(p, 1.0, 0, 0, *scratch);
  row_resampler sink(p, *scratch, wick::detail::picture_target::interleaved(out.data(), 40, 30, 3));
  CHECK(contains(message_of([&] { return sink.begin({39, 30, 3, 0, 0, 1.0}), 0; }), "less", "codec"));
  CHECK(contains(message_of([&] { return sink.begin({40, 30, 3, 0, 1, 1.0}), 0; }), "less"));
  CHECK(contains(message_of([&] { return sink.begin({40, 30, 4, 0, 0, 1.0}), 0; }), "less"));
}

}  // namespace wick_test::row_sink_tests
