#include <cmath>
#include <string>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "../support/picture.hpp"
#include <wick/transforms/jitter.hpp>

namespace wick_test::jitter_tests {

static_assert(
    wick::detail::stage_of<wick::detail::color_jitter_stage, wick::ext::stage_kind::sample_or_data>);
static_assert(wick::detail::stage_of<wick::detail::grayscale_stage, wick::ext::stage_kind::sample_or_data>);
static_assert(
    wick::detail::stage_of<wick::detail::random_grayscale_stage, wick::ext::stage_kind::sample_or_data>);

using wick::image;

namespace {

template <class Stage>
image run(const Stage& stage, const image& picture, std::uint64_t position = 0) {
  wick::context ctx = context_at(position);
  return stage(wick::lazy_image(picture), ctx).pixels();
}

}  // namespace

TEST_CASE("brightness factors are uniform around one, and never below nothing") {
  const image p = flat(2, 2, 3, 100);
  double least = 1000, most = 0, sum = 0;
  for (std::uint64_t position = 0; position < 4000; ++position) {
    const double level = run(wick::color_jitter(0.4), p, position).data()[0];
    least = std::min(least, level);
    most = std::max(most, level);
    sum += level;
  }
  CHECK(least >= 60);
  CHECK(least <= 61);
  CHECK(most >= 139);
  CHECK(most <= 140);
  CHECK(std::fabs(sum / 4000 - 99.5) < 2);  // levels are cut off
  bool black = false;
  for (std::uint64_t position = 0; position < 500; ++position)
    black = black || run(wick::color_jitter(1.0), p, position).data()[0] <= 1;
  CHECK(black);
}

TEST_CASE("a jitter of nothing changes nothing") {
  CHECK(run(wick::color_jitter(), photo(20, 20)) == photo(20, 20));
}

TEST_CASE("the same position gets the same jitter, another one another, in more than one order") {
  const auto stage = wick::color_jitter(0.5, 0.5, 0.5, 0.2);
  const image p = photo(20, 20);
  for (std::uint64_t position = 0; position < 20; ++position) {
    CHECK(run(stage, p, position) == run(stage, p, position));
    CHECK_FALSE(run(stage, p, position) == run(stage, p, position + 1));
  }
}

TEST_CASE("grayscale gives one channel or three equal ones, alpha is left behind") {
  for (const int channels : {1, 2, 3, 4}) {
    const image p = photo(20, 10, channels);
    const image one = run(wick::grayscale(), p), three = run(wick::grayscale(3), p);
    REQUIRE(one.channels() == 1);
    REQUIRE(three.channels() == 3);
    for (int i = 0; i < 200; ++i) {
      const std::uint8_t* v = p.data() + i * channels;
      const int expected =
          channels < 3 ? v[0] : static_cast<int>(0.2989f * v[0] + 0.587f * v[1] + 0.114f * v[2]);
      CHECK(one.data()[i] == expected);
      for (int c = 0; c < 3; ++c) CHECK(three.data()[i * 3 + c] == expected);
    }
  }
}

TEST_CASE("random_grayscale keeps the channels and happens as often as asked") {
  const image p = photo(8, 8);
  int gray = 0;
  for (std::uint64_t position = 0; position < 2000; ++position) {
    const image q = run(wick::random_grayscale(0.25), p, position);
    REQUIRE(q.channels() == 3);
    gray += !(q == p);
  }
  CHECK(std::abs(gray - 500) < 120);
}

TEST_CASE("amounts that mean nothing are refused by name") {
  CHECK(contains(message_of([] { return wick::color_jitter(-0.1); }), "brightness", "0 or more"));
  CHECK(contains(message_of([] { return wick::color_jitter(0, 0, NAN); }), "saturation"));
  CHECK(contains(message_of([] { return wick::color_jitter(0, 0, 0, 0.6); }), "hue", "0 to 0.5"));
  CHECK(contains(message_of([] { return wick::grayscale(2); }), "2 channels", "3 equal"));
  CHECK(contains(message_of([] { return wick::random_grayscale(2); }), "random_grayscale"));
}

}  // namespace wick_test::jitter_tests
