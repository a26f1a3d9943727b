#include <string>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "../support/picture.hpp"
#include <wick/image/detail/padding.hpp>
#include <wick/transforms/pad.hpp>

namespace wick_test::pad_tests {

static_assert(wick::detail::stage_of<wick::detail::pad_stage, wick::ext::stage_kind::sample_or_data>);

using wick::image;
using wick::padding_mode;

namespace {

/// One row of levels, padded: "abc" → "..abc..".
std::string padded(const std::string& row, int left, int right, padding_mode mode) {
  image p(static_cast<int>(row.size()), 1, 1);
  std::copy(row.begin(), row.end(), p.data());
  const image q = wick::detail::pad_picture(p, {left, 0, right, 0}, '.', mode);
  return std::string(q.pixels().begin(), q.pixels().end());
}

}  // namespace

TEST_CASE("the modes fill the border as numpy's and torchvision's do") {
  CHECK(padded("abcd", 2, 3, padding_mode::constant) == "..abcd...");
  CHECK(padded("abcd", 2, 3, padding_mode::edge) == "aaabcdddd");
  CHECK(padded("abcd", 2, 3, padding_mode::reflect) == "cbabcdcba");
  CHECK(padded("abcd", 2, 3, padding_mode::symmetric) == "baabcddcb");
  CHECK(padded("a", 2, 0, padding_mode::edge) == "aaa");
}

TEST_CASE("all four sides are padded, and the picture lies in the middle") {
  const image p = photo(9, 6);
  wick::context ctx = context_at(0);
  const image q = wick::pad(1, 2, 3, 4, {.fill = {7, 8, 9}})(wick::lazy_image(p), ctx).pixels();
  REQUIRE(q.width() == 13);
  REQUIRE(q.height() == 12);
  for (int y = 0; y < 12; ++y) {
    for (int x = 0; x < 13; ++x) {
      const bool inside = x >= 1 && x < 10 && y >= 2 && y < 8;
      for (int c = 0; c < 3; ++c)
        CHECK(q.row(y)[x * 3 + c] == (inside ? p.row(y - 2)[(x - 1) * 3 + c] : 7 + c));
    }
  }
  CHECK(wick::pad(2)(wick::lazy_image(p), ctx).extents() == wick::shape{10, 13, 3});
  CHECK(wick::pad({2, 1})(wick::lazy_image(p), ctx).extents() == wick::shape{8, 13, 3});
  CHECK(wick::pad(0)(wick::lazy_image(p), ctx).pixels() == p);
}

TEST_CASE("padding after geometry pads what the geometry gives") {
  wick::context ctx = context_at(0);
  wick::lazy_image lazy(photo(40, 30));
  lazy.crop({5, 5, 20, 20});
  lazy.resize(10, 10);
  const image inner = lazy.pixels();
  lazy = wick::pad(3)(std::move(lazy), ctx);
  lazy.crop({3, 3, 10, 10});
  CHECK(lazy.pixels() == inner);
}

TEST_CASE("what cannot be padded says how much can") {
  CHECK(contains(message_of([] { return padded("abc", 3, 0, padding_mode::reflect); }), "3 px", "at most 2",
                 "not 3"));
  CHECK(contains(message_of([] { return padded("abc", 0, 4, padding_mode::symmetric); }), "at most 3"));
  CHECK(contains(message_of([] { return wick::pad(-1); }), "negative padding"));
}

}  // namespace wick_test::pad_tests
