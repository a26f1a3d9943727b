#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "../support/picture.hpp"
#include <wick/transforms/flip.hpp>

namespace wick_test::flip_tests {

static_assert(
    wick::detail::stage_of<wick::detail::horizontal_flip_stage, wick::ext::stage_kind::sample_or_data>);
static_assert(
    wick::detail::stage_of<wick::detail::vertical_flip_stage, wick::ext::stage_kind::sample_or_data>);
static_assert(wick::detail::stage_of<wick::detail::random_horizontal_flip_stage,
                                     wick::ext::stage_kind::sample_or_data>);
static_assert(
    wick::detail::stage_of<wick::detail::random_vertical_flip_stage, wick::ext::stage_kind::sample_or_data>);

using wick::image;

namespace {

template <class... Stage>
image run(const image& picture, std::uint64_t position, const Stage&... stage) {
  wick::context ctx = context_at(position);
  wick::lazy_image p(picture);
  ((p = stage(std::move(p), ctx)), ...);
  return std::move(p).pixels();
}

}  // namespace

TEST_CASE("a flip moves each pixel to the other side") {
  const image p = photo(13, 7);
  const image across = run(p, 0, wick::horizontal_flip()), down = run(p, 0, wick::vertical_flip());
  for (int y = 0; y < 7; ++y) {
    for (int x = 0; x < 13 * 3; ++x) {
      CHECK(across.row(y)[x] == p.row(y)[(12 - x / 3) * 3 + x % 3]);
      CHECK(down.row(y)[x] == p.row(6 - y)[x]);
    }
  }
}

TEST_CASE("flipping twice changes nothing") {
  const image p = photo(13, 7);
  CHECK(run(p, 0, wick::horizontal_flip(), wick::horizontal_flip()) == p);
  CHECK(run(p, 0, wick::vertical_flip(), wick::horizontal_flip(), wick::vertical_flip(),
            wick::horizontal_flip()) == p);
}

TEST_CASE("a random flip happens as often as it was asked for, and always at the same positions") {
  const image p = photo(4, 3);
  int across = 0, down = 0;
  for (std::uint64_t position = 0; position < 2000; ++position) {
    const bool flipped = !(run(p, position, wick::random_horizontal_flip(0.3)) == p);
    across += flipped;
    down += !(run(p, position, wick::random_vertical_flip()) == p);
    CHECK(flipped == !(run(p, position, wick::random_horizontal_flip(0.3)) == p));
  }
  CHECK(std::abs(across - 600) < 130);
  CHECK(std::abs(down - 1000) < 140);
  CHECK(run(p, 0, wick::random_horizontal_flip(0)) == p);
  CHECK(run(p, 0, wick::random_horizontal_flip(1)) == run(p, 0, wick::horizontal_flip()));
}

TEST_CASE("what is no probability is refused") {
  CHECK(contains(message_of([] { return wick::random_horizontal_flip(1.5); }), "random_horizontal_flip",
                 "0 to 1"));
  CHECK(contains(message_of([] { return wick::random_vertical_flip(-0.1); }), "random_vertical_flip"));
}

}  // namespace wick_test::flip_tests
