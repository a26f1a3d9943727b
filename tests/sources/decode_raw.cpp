#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include <wick/pipeline/context.hpp>
#include <wick/sources/decode_raw.hpp>

namespace wick_test::decode_raw_tests {

TEST_CASE("bytes become the array that they are") {
  const std::vector<std::int16_t> values = {1, -2, 3, -4, 5, -6};
  wick::context c({});
  const auto array = wick::decode_raw<std::int16_t>({2, 3})(wick::bytes(values.data(), 12), c);
  CHECK(array.extents() == wick::shape{2, 3});
  CHECK(array.type() == wick::dtype::int16);
  CHECK(array.view().as<std::int16_t>()[5] == -6);
  std::vector<std::int16_t> out(6);
  array.write_to({reinterpret_cast<std::byte*>(out.data()), false});
  CHECK(out == values);
}

TEST_CASE("more or fewer bytes than the array has are an error") {
  wick::context c({});
  const auto said = [&](std::size_t size) {
    return wick_test::message_of([&] { return wick::decode_raw<float>({4, 2})(wick::bytes(size), c); });
  };
  CHECK(said(31) ==
        "31 bytes aren't an array [4, 2] of float32, which has 32; check the shape, the type and the bytes "
        "that "
        "were read");
  CHECK(!said(33).empty());
  CHECK(said(32).empty());
}

TEST_CASE("bytes become the struct that they are, and other sizes are an error") {
  struct position {
    std::int32_t x, y;
  };
  wick::context c({});
  const position there = {3, -4};
  const position found = wick::decode_raw<position>()(wick::bytes(&there, sizeof there), c);
  CHECK(found.x == 3);
  CHECK(found.y == -4);
  CHECK(wick_test::message_of([&] { return wick::decode_raw<position>()(wick::bytes(7), c); }) ==
        "7 bytes were read, and the struct has 8; check the struct's padding (#pragma pack), and the bytes "
        "that were read");
}

TEST_CASE("a shape without elements is refused, and another shape or type has another fingerprint") {
  CHECK_THROWS_AS(wick::decode_raw<float>({4, 0}), wick::error);
  const std::uint64_t same = wick::decode_raw<float>({4, 2}).fingerprint();
  CHECK(wick::decode_raw<float>({4, 2}).fingerprint() == same);
  CHECK(wick::decode_raw<float>({2, 4}).fingerprint() != same);
  CHECK(wick::decode_raw<std::int32_t>({4, 2}).fingerprint() != same);
}

}  // namespace wick_test::decode_raw_tests
