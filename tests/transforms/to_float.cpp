#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "stages.hpp"
#include <wick/batch/ragged.hpp>
#include <wick/image/boxes.hpp>
#include <wick/image/decode.hpp>
#include <wick/image/mask.hpp>
#include <wick/loader/loader.hpp>
#include <wick/sources/memory.hpp>
#include <wick/transforms/adjust.hpp>
#include <wick/transforms/normalize.hpp>
#include <wick/transforms/to_float.hpp>

namespace wick_test::to_float_tests {

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

TEST_CASE("a wick::image in a sample or a tuple becomes float32 in the batch, as one alone does") {
  const image p = photo(9, 7);
  using tiles = std::tuple<image, wick::mask, wick::boxes>;
  const auto item = [&](std::int64_t) {
    return tiles{p, wick::mask(photo(9, 7, 1)), wick::boxes{.xyxy = {{0, 0, 5, 5}}, .labels = {1}}};
  };
  const auto pairs = [&](std::int64_t) { return std::tuple<image, image>{p, p}; };
  const std::vector<std::int64_t> two(2);
  const auto check = [&](const auto& stage) {
    const auto expected = numbers(after(stage, p), true);
    const auto equal = [&](const wick::array& batch) {
      REQUIRE(batch.type() == wick::dtype::float32);
      return std::equal(expected.begin(), expected.end(), batch.as<float>());
    };
    wick::loader l(wick::in_memory(two) | item | stage | wick::array_batch(2, {.ragged = wick::pad_with(-1)}),
                   {.workers = 1});
    for (auto& batch : l.epoch(0)) CHECK(equal(std::get<0>(batch)));
    wick::loader siamese(wick::in_memory(two) | pairs | stage | wick::array_batch(2), {.workers = 1});
    for (auto& [a, b] : siamese.epoch(0)) CHECK((equal(a) && equal(b)));
  };
  check(wick::to_float());
  check(wick::normalize(0.5, 0.25));
}

TEST_CASE("a wick::image in a struct is refused as float32, and the message says what to do") {
  struct pair {
    image picture;
    wick::mask classes;
  };
  const auto item = [](std::int64_t) { return pair{photo(4, 4), wick::mask(photo(4, 4, 1))}; };
  const auto refused = [&](const auto& stage) {
    wick::loader l(wick::in_memory(std::vector<std::int64_t>(1)) | item | stage | wick::array_batch(1),
                   {.workers = 1});
    return message_of([&] { return l.next().has_value(); });
  };
  CHECK(contains(refused(wick::to_float()), "8 bits", "float32", "wick::lazy_image"));
  CHECK(contains(refused(wick::normalize(0.5, 0.5)), "8 bits", "float32", "wick::lazy_image"));
}

}  // namespace wick_test::to_float_tests
