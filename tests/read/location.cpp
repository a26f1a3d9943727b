#include <wick/read/location.hpp>

#include "../support/doctest.hpp"

TEST_CASE("a location of a path alone is the whole file, not yet open") {
  const wick::location l{.path = "a.jpg"};
  CHECK(l.file == -1);
  CHECK(l.offset == 0);
  CHECK(l.length == wick::location::whole);
  CHECK(l.indexed == nullptr);
  CHECK(sizeof(wick::location) <= 40);
}
