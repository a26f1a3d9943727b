#include <wick/read/memory_view.hpp>

#include <array>
#include <cstring>
#include <vector>

#include "../support/doctest.hpp"

TEST_CASE("a view says its shape and type and writes itself into a slot") {
  const std::vector<std::int16_t> values = {1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, -12};
  const wick::row_format format({2, 3}, wick::dtype::int16);
  const wick::memory_view view(reinterpret_cast<const std::byte*>(values.data() + 6), format);
  CHECK(view.extents() == wick::shape{2, 3});
  CHECK(view.type() == wick::dtype::int16);
  CHECK(view.size() == 12);
  CHECK(view.as<std::int16_t>()[0] == 7);

  std::array<std::int16_t, 6> out{};
  view.write_to({reinterpret_cast<std::byte*>(out.data()), false});
  CHECK(out == std::array<std::int16_t, 6>{7, -8, 9, -10, 11, -12});
}

TEST_CASE("a view is small: two pointers") { CHECK(sizeof(wick::memory_view) == 2 * sizeof(void*)); }

TEST_CASE("elements read as what they are not are an error") {
  const std::array<std::byte, 4> data{};
  const wick::row_format format({4}, wick::dtype::uint8);
  CHECK_THROWS_WITH_AS((void)wick::memory_view(data.data(), format).as<float>(),
                       "wick::memory_view: elements are uint8, not float32", wick::error);
}

TEST_CASE("a row without elements is refused") {
  CHECK_THROWS_WITH_AS(wick::row_format({28, 0}, wick::dtype::uint8),
                       "wick: a row of shape [28, 0] has no elements; extents are at least 1", wick::error);
}
