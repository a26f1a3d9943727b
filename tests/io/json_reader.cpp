// What a text of JSON says, and what is wrong with one.
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include <wick/io/detail/json_reader.hpp>

namespace wick_test::json_reader_tests {

using wick::detail::json_reader;
using wick_test::contains;
using wick_test::message_of;

namespace {

std::string string_of(std::string_view text) {
  json_reader json(text);
  std::string out = json.string();
  json.end();
  return out;
}

}  // namespace

TEST_CASE("members and elements come in their order, and what is not wanted is passed over") {
  json_reader json(
      R"( {"a": [1, 22 ,18446744073709551615], "b" : {"c": [{"a": "no"}, [], null, -1.5e3]}, "d": "x"} )");
  std::map<std::string, std::string> strings;
  std::uint64_t sum = 0;
  int numbers = 0;
  json.object([&](const std::string& name) {
    if (json.at_string())
      strings[name] = json.string();
    else if (name == "a")
      json.array([&] { ++numbers, sum += json.number(); });
    else
      json.skip();
  });
  json.end();
  CHECK(strings == std::map<std::string, std::string>{{"d", "x"}});
  CHECK(numbers == 3);
  CHECK(sum == 22);
}

TEST_CASE("escapes stand for their characters, in UTF-8") {
  CHECK(string_of(R"("\"\\\/\b\f\n\r\t")") == "\"\\/\b\f\n\r\t");
  CHECK(string_of(R"("\u0041\u00fc\u20AC\ud83d\ude00")") == "A\xC3\xBC\xE2\x82\xAC\xF0\x9F\x98\x80");
  CHECK(string_of("\"\xC3\xBC\"") == "\xC3\xBC");
}

TEST_CASE("what is no JSON is an error, wherever it ends") {
  const std::string whole = R"({"a\u0041\n": [1, {"b": "c"}, true], "d": 2})";
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    CHECK(message_of([&] {
            json_reader json(std::string_view(whole).substr(0, size));
            json.skip();
            json.end();
          }) != "");
  }
  CHECK(contains(message_of([] { string_of("\"a\" b"); }), "something follows"));
  CHECK(contains(message_of([] { string_of(R"("\x")"); }), "escape"));
  CHECK(contains(message_of([] { string_of(R"("\u12g4")"); }), "escape"));
  CHECK(contains(message_of([] { json_reader("-1").number(); }), "whole number"));
  CHECK(contains(message_of([] { json_reader("18446744073709551616").number(); }), "whole number"));
  CHECK(contains(message_of([] { json_reader(std::string(100'000, '[')).skip(); }), "more than 64 deep"));
}

}  // namespace wick_test::json_reader_tests
