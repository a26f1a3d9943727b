#include <memory>
#include <string>
#include <utility>

#include "../support/doctest.hpp"
#include <wick/async/hang_handler.hpp>

namespace wick_test::hang_handler_tests {

using wick::hang_handler;

TEST_CASE("there is nothing to call at first") { CHECK(!hang_handler()); }

TEST_CASE("whatever takes a text is called, and what it returns is dropped") {
  std::string got;
  hang_handler h = [&got](const std::string& text) {
    got += text;
    return 1;
  };
  REQUIRE(h);
  h("a");
  h("b");
  CHECK(got == "ab");
}

TEST_CASE("copies call the same callable, which may be one that can't be copied") {
  auto calls = std::make_unique<int>(0);
  const int* const seen = calls.get();
  const hang_handler h = [calls = std::move(calls)](const std::string&) { ++*calls; };
  hang_handler copy = h;
  h("");
  copy("");
  copy = h;
  copy("");
  CHECK(*seen == 3);
}

}  // namespace wick_test::hang_handler_tests
