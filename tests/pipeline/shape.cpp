#include <cstddef>
#include <cstdint>
#include <string>

#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include <wick/pipeline/shape.hpp>

namespace wick_test::shape_tests {

using wick::dtype;
using wick::shape;
using wick::detail::dtype_of;

TEST_CASE("each arithmetic type has the element type of its size and kind") {
  CHECK(dtype_of<bool>() == dtype::boolean);
  CHECK(dtype_of<std::uint8_t>() == dtype::uint8);
  CHECK(dtype_of<std::int8_t>() == dtype::int8);
  CHECK(dtype_of<std::int16_t>() == dtype::int16);
  CHECK(dtype_of<std::int32_t>() == dtype::int32);
  CHECK(dtype_of<std::int64_t>() == dtype::int64);
  CHECK(dtype_of<long long>() == dtype::int64);
  CHECK(dtype_of<float>() == dtype::float32);
  CHECK(dtype_of<double>() == dtype::float64);
  CHECK(wick::detail::size_of(dtype_of<long>()) == sizeof(long));
}

TEST_CASE("every element type has its size and a name") {
  const struct {
    dtype type;
    std::size_t size;
    const char* name;
  } all[] = {{dtype::uint8, 1, "uint8"},     {dtype::int8, 1, "int8"},       {dtype::int16, 2, "int16"},
             {dtype::int32, 4, "int32"},     {dtype::int64, 8, "int64"},     {dtype::float16, 2, "float16"},
             {dtype::float32, 4, "float32"}, {dtype::float64, 8, "float64"}, {dtype::boolean, 1, "boolean"}};
  for (const auto& t : all) {
    CHECK(wick::detail::size_of(t.type) == t.size);
    CHECK(wick::to_string(t.type) == t.name);
  }
}

TEST_CASE("a shape is its extents") {
  const shape s{3, 224, 200};
  CHECK(s.rank() == 3);
  CHECK(s[1] == 224);
  CHECK(s.count() == 3 * 224 * 200);
  CHECK(wick::to_string(s) == "[3, 224, 200]");
  std::int64_t sum = 0;
  for (const std::int64_t e : s) sum += e;
  CHECK(sum == 427);
}

TEST_CASE("a scalar has no extents and one element; an extent of 0 has none") {
  CHECK(shape{}.rank() == 0);
  CHECK(shape{}.count() == 1);
  CHECK(wick::to_string(shape{}) == "[]");
  CHECK(shape{4, 0}.count() == 0);
}

TEST_CASE("shapes are equal when rank and extents are") {
  CHECK(shape{2, 3} == shape{2, 3});
  CHECK(!(shape{2, 3} == shape{3, 2}));
  CHECK(!(shape{2} == shape{2, 1}));
  CHECK(shape{} == shape{});
}

TEST_CASE("a shape has room for six dimensions of a sample and the batch's, and refuses more") {
  shape s{1, 2, 3, 4, 5, 6, 7};
  CHECK(s.count() == 5040);
  CHECK(wick_test::contains(wick_test::message_of([&] { s.push_back(8); }), "at most 6 dimensions"));
  CHECK(s.rank() == 7);
}

}  // namespace wick_test::shape_tests
