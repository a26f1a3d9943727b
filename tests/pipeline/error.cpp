#include <exception>
#include <stdexcept>
#include <string>

#include "support/doctest.hpp"
#include <wick/pipeline/error.hpp>

namespace wick_test::error_tests {

TEST_CASE("a sample error says key, stage and reason, and keeps the thrown exception") {
  const auto cause = std::make_exception_ptr(std::out_of_range("past the end"));
  const wick::sample_error e("cat/0012.jpg", "decode", 3, 77, "past the end", cause);
  CHECK(std::string(e.what()) == "cat/0012.jpg: decode: past the end");
  CHECK(e.key() == "cat/0012.jpg");
  CHECK(e.stage() == "decode");
  CHECK(e.epoch() == 3);
  CHECK(e.position() == 77);
  CHECK_THROWS_AS(std::rethrow_exception(e.cause()), std::out_of_range);
}

TEST_CASE("all of wick's errors are caught as wick::error, and as std::runtime_error") {
  const auto thrown = [] { throw wick::sample_error("k", "s", 0, 0, "t", nullptr); };
  CHECK_THROWS_AS(thrown(), wick::error);
  CHECK_THROWS_AS(thrown(), std::runtime_error);
}

TEST_CASE("a sample error is copied without harm, as exceptions are") {
  const wick::sample_error e("k", "s", 1, 2, "t", nullptr);
  const wick::sample_error copy = e;
  CHECK(std::string(copy.what()) == e.what());
  CHECK(copy.key() == "k");
}

TEST_CASE("what a terminal could misread is written in digits, and nothing else is changed") {
  CHECK(wick::detail::printable("plain text, 100 %") == "plain text, 100 %");
  CHECK(wick::detail::printable("K\xC3\xA4tzchen.jpg") == "K\xC3\xA4tzchen.jpg");
  CHECK(wick::detail::printable("a\nb\r\t\x1B[31m\x7F") == "a\\x0ab\\x0d\\x09\\x1b[31m\\x7f");
  CHECK(wick::detail::printable(std::string_view("\0x", 2)) == "\\x00x");
  CHECK(wick::detail::printable("").empty());
}

TEST_CASE("ordinals count from 0 and end as they are read") {
  const char* const expected[] = {"1st", "2nd", "3rd", "4th"};
  for (std::size_t i = 0; i < 4; ++i) CHECK(wick::detail::ordinal(i) == expected[i]);
  CHECK(wick::detail::ordinal(9) == "10th");
  for (const std::size_t n : {10, 11, 12, 110}) CHECK(wick::detail::ordinal(n).ends_with("th"));
  CHECK(wick::detail::ordinal(20) == "21st");
  CHECK(wick::detail::ordinal(101) == "102nd");
}

}  // namespace wick_test::error_tests
