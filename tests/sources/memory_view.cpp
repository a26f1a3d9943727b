#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "../support/doctest.hpp"
#include <wick/sources/memory_view.hpp>

namespace wick_test::memory_view_tests {

TEST_CASE("a view says its shape and type and writes itself into a slot") {
  const std::vector<std::int16_t> values = {1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, -12};
  const wick::detail::row_format format({2, 3}, wick::dtype::int16);
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
  const wick::detail::row_format format({4}, wick::dtype::uint8);
  CHECK_THROWS_WITH_AS((void)wick::memory_view(data.data(), format).as<float>(),
                       "wick::memory_view: elements are uint8, not float32", wick::error);
}

TEST_CASE("a row without elements is refused") {
  CHECK_THROWS_WITH_AS(wick::detail::row_format({28, 0}, wick::dtype::uint8),
                       "wick: a row of shape [28, 0] has no elements; extents are at least 1", wick::error);
}

TEST_CASE("a row with any strides is written as if it were packed") {
  std::mt19937 random(1);
  const auto draw = [&](std::int64_t from, std::int64_t to) {
    return std::uniform_int_distribution<std::int64_t>(from, to)(random);
  };
  int packed = 0, walked = 0;
  for (int round = 0; round < 3000; ++round) {
    const std::size_t rank = static_cast<std::size_t>(draw(0, 6));
    std::vector<std::int64_t> extents(rank), strides(rank);
    // A view of an array of the dimensions in another order, some with gaps, some of stride 0, some of one
    // element.
    std::vector<std::size_t> order(rank);
    for (std::size_t d = 0; d < rank; ++d) order[d] = d;
    if (draw(0, 2) != 0) std::shuffle(order.begin(), order.end(), random);
    std::int64_t step = draw(0, 4) == 0 ? 2 : 1;
    for (std::size_t k = rank; k-- > 0;) {
      const std::size_t d = order[k];
      extents[d] = draw(1, 4);
      strides[d] = draw(0, 7) == 0 ? 0 : step;
      step *= extents[d];
      if (draw(0, 5) == 0) step += draw(1, 3);
    }
    wick::shape e, s;
    for (std::size_t d = 0; d < rank; ++d) {
      e.push_back(extents[d]);
      s.push_back(strides[d]);
    }
    const wick::dtype type = std::array{wick::dtype::uint8, wick::dtype::int16, wick::dtype::float32,
                                        wick::dtype::int64}[draw(0, 3)];
    const std::size_t element = wick::detail::size_of(type);
    const wick::detail::row_format format(e, type, s);

    std::vector<std::byte> expected;
    std::size_t span = 0;
    std::vector<std::byte> array(static_cast<std::size_t>(step + 1) * element);
    for (std::byte& b : array) b = static_cast<std::byte>(draw(0, 255));
    std::vector<std::int64_t> at(rank, 0);
    for (std::int64_t n = e.count(); n > 0; --n) {
      std::size_t offset = 0;
      for (std::size_t d = 0; d < rank; ++d) offset += static_cast<std::size_t>(at[d] * strides[d]) * element;
      REQUIRE(offset + element <= array.size());
      expected.insert(expected.end(), array.begin() + static_cast<std::ptrdiff_t>(offset),
                      array.begin() + static_cast<std::ptrdiff_t>(offset + element));
      span = std::max(span, offset + element);
      for (std::size_t d = rank; d-- > 0;) {
        if (++at[d] < extents[d]) break;
        at[d] = 0;
      }
    }
    std::vector<std::byte> out(expected.size() + 1, std::byte{0x5A});
    const wick::memory_view view(array.data(), format);
    view.write_to({out.data(), false});
    CHECK(out.back() == std::byte{0x5A});
    out.pop_back();
    CHECK(out == expected);
    CHECK(view.size() == expected.size());
    CHECK(format.span() == span);
    ++(format.packed ? packed : walked);
    if (format.packed) CHECK(std::memcmp(view.data(), expected.data(), expected.size()) == 0);
  }
  CHECK(packed > 300);
  CHECK(walked > 300);
}

TEST_CASE("elements that don't lie side by side can't be read as if they did") {
  const std::array<float, 6> values{};
  const wick::detail::row_format format({3, 2}, wick::dtype::float32, {1, 3});
  const wick::memory_view view(reinterpret_cast<const std::byte*>(values.data()), format);
  const char* const text =
      "wick::memory_view: the elements of a row [3, 2] don't lie side by side; make the array contiguous "
      "before it "
      "becomes a source, or copy the row by write_to(), into size() bytes";
  CHECK_THROWS_WITH_AS((void)view.data(), text, wick::error);
  CHECK_THROWS_WITH_AS((void)view.as<float>(), text, wick::error);
  CHECK(view.size() == 24);
}

}  // namespace wick_test::memory_view_tests
