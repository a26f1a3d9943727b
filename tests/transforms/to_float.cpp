#include <vector>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "stages.hpp"
#include <wick/image/decode.hpp>
#include <wick/transforms/adjust.hpp>
#include <wick/transforms/normalize.hpp>
#include <wick/transforms/to_float.hpp>

using namespace wick_test;
using wick::image;

TEST_CASE("to_float gives level / 255 as float32, in either layout") {
  const image p = photo(9, 7);
  const wick::lazy_image q = after(wick::to_float(), p);
  CHECK(q.type() == wick::dtype::float32);
  const auto side_by_side = numbers(q), planes = numbers(q, true);
  REQUIRE(side_by_side.size() == 189);
  for (std::size_t i = 0; i < 63; ++i) {
    for (std::size_t c = 0; c < 3; ++c) {
      const float expected = static_cast<float>(p.data()[i * 3 + c]) / 255;
      CHECK(side_by_side[i * 3 + c] == expected);
      CHECK(planes[c * 63 + i] == expected);
    }
  }
}

TEST_CASE("what follows to_float still works, on the levels") {
  const image p = photo(9, 7);
  wick::lazy_image q = after(wick::adjust_brightness(0.5), after(wick::to_float(), p));
  q.crop({1, 1, 5, 5});
  q.resize(3, 3);
  CHECK(q.type() == wick::dtype::float32);
  CHECK(numbers(q).size() == 27);
  CHECK(numbers(after(wick::normalize(0.5, 0.5), after(wick::to_float(), p))) ==
        numbers(after(wick::normalize(0.5, 0.5), p)));
}

TEST_CASE("to_float is refused where the picture has other numbers, and as a wick::image") {
  const image p = photo(9, 7);
  CHECK(contains(
      message_of([&] { return after(wick::to_float(), after(wick::normalize(0.5, 0.5), p)).width(); }),
      "to_float after normalize"));
  CHECK(contains(message_of([&] { return after(wick::to_float(), p).materialize(); }), "8 bits"));
  wick::context ctx = context_at(0);
  const std::string png = encode_png(photo(4, 4));
  wick::lazy_image whole = wick::decode({.type = wick::dtype::int32})(as_bytes(png), ctx);
  CHECK(contains(message_of([&] { return after(wick::to_float(), std::move(whole)).width(); }), "to_float",
                 "int32"));
}
