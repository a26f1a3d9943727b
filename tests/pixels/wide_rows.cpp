#include "support/doctest.hpp"
#include <wick/pixels/wide_rows.hpp>

namespace wick_test::wide_rows_tests {

TEST_CASE("rows of 16 bits follow one another, and are named by their number in the picture") {
  wick::ext::wide_rows rows(3, 2, 4, 10);
  CHECK(rows.width == 3);
  CHECK(rows.height == 2);
  CHECK(rows.levels.size() == 3 * 2 * 4);
  CHECK(rows.row(10) == rows.levels.data());
  CHECK(rows.row(11) == rows.levels.data() + 3 * 4);
}

TEST_CASE("no rows take no memory") {
  const wick::ext::wide_rows none;
  CHECK(none.levels.empty());
  CHECK(none.height == 0);
}

}  // namespace wick_test::wide_rows_tests
