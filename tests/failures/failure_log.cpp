#include <cstdint>
#include <string>

#include "support/doctest.hpp"
#include <wick/failures/failure_log.hpp>

namespace wick_test::failure_log_tests {

TEST_CASE("the failure log keeps failures in the order they are written down") {
  wick::failure_log l;
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

TEST_CASE("a failure log of a hopeless data set stays small, keeps the first failures and counts all") {
  wick::failure_log l;
  const std::uint64_t many = wick::failure_log::max_kept + 123;
  for (std::uint64_t i = 0; i < many; ++i) l.add({std::to_string(i), "read", 0, i, ""});
  CHECK(l.total() == many);
  REQUIRE(l.entries().size() == wick::failure_log::max_kept);
  CHECK(l.entries().front().key == "0");
  CHECK(l.entries().back().key == std::to_string(wick::failure_log::max_kept - 1));
}

TEST_CASE("what a retry has saved is written down and counted apart: it was delivered") {
  wick::failure_log l;
  const auto entry = [](const char* key, const char* stage, wick::error_action a) {
    wick::failure_log::entry e;
    e.key = key;
    e.stage = stage;
    e.action = a;
    return e;
  };
  l.add(entry("a", "read", wick::error_action::retry));
  l.add(entry("b", "read", wick::error_action::skip));
  l.add(entry("c", "decode", wick::error_action::skip));
  l.add(entry("d", "read", wick::error_action::retry));
  CHECK(l.entries().size() == 4);
  CHECK(l.total() == 2);
  REQUIRE(l.counts().size() == 3);
  CHECK(l.counts()[0].stage == "read");
  CHECK(l.counts()[0].action == wick::error_action::retry);
  CHECK(l.counts()[0].count == 2);
  CHECK(l.counts()[2].stage == "decode");
  CHECK(l.counts()[2].count == 1);
}

TEST_CASE("actions and kinds have names") {
  CHECK(to_string(wick::error_action::fail) == "fail");
  CHECK(to_string(wick::error_action::retry) == "retry");
  CHECK(to_string(wick::error_kind::data) == "data");
  CHECK(to_string(wick::error_kind::quarantined) == "quarantined");
}

}  // namespace wick_test::failure_log_tests
