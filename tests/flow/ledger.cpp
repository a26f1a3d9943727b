#include "support/doctest.hpp"

#include <cstdint>
#include <string>

#include <wick/flow/ledger.hpp>

TEST_CASE("the ledger keeps failures in the order they are written down") {
  wick::ledger l;
  CHECK(l.total() == 0);
  CHECK(l.entries().empty());
  l.add({"a.jpg", "decode", 1, 10, "not a JPEG"});
  l.add({"b.jpg", "read", 2, 5, "no such file"});
  REQUIRE(l.entries().size() == 2);
  CHECK(l.entries()[0].key == "a.jpg");
  CHECK(l.entries()[0].stage == "decode");
  CHECK(l.entries()[0].epoch == 1);
  CHECK(l.entries()[0].position == 10);
  CHECK(l.entries()[0].text == "not a JPEG");
  CHECK(l.entries()[1].key == "b.jpg");
  CHECK(l.total() == 2);
}

TEST_CASE("a ledger of a hopeless data set stays small, keeps the first failures and counts all") {
  wick::ledger l;
  const std::uint64_t many = wick::ledger::max_kept + 123;
  for (std::uint64_t i = 0; i < many; ++i) l.add({std::to_string(i), "read", 0, i, ""});
  CHECK(l.total() == many);
  REQUIRE(l.entries().size() == wick::ledger::max_kept);
  CHECK(l.entries().front().key == "0");
  CHECK(l.entries().back().key == std::to_string(wick::ledger::max_kept - 1));
}
