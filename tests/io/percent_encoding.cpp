// Percent-encoding of paths and queries.
#include <string>
#include <string_view>

#include "support/doctest.hpp"
#include <wick/io/detail/percent_encoding.hpp>

namespace wick_test::percent_encoding_tests {

using wick::detail::encoded_query;
using wick::detail::percent_decoded;
using wick::detail::percent_encoded;
using wick::detail::plus_signs;
using wick::detail::slashes;

TEST_CASE("every byte comes back from its encoding, which has the unreserved characters only") {
  std::string all;
  for (int b = 0; b < 256; ++b) all += static_cast<char>(b);
  const std::string encoded = percent_encoded(all, slashes::encoded);
  CHECK(encoded.size() == 66 + 190 * 3);
  CHECK(encoded.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~%") ==
        std::string::npos);
  CHECK(percent_decoded(encoded, plus_signs::kept) == all);
  CHECK(percent_decoded(encoded, plus_signs::are_blanks) == all);
}

TEST_CASE("slashes are kept in paths and encoded in queries, and UTF-8 is encoded by its bytes") {
  CHECK(percent_encoded("a/b c", slashes::kept) == "a/b%20c");
  CHECK(percent_encoded("a/b c", slashes::encoded) == "a%2Fb%20c");
  CHECK(percent_encoded("\xC3\x9C", slashes::kept) == "%C3%9C");
  CHECK(percent_encoded("", slashes::kept).empty());
}

TEST_CASE("a plus sign is a blank only where forms write it so") {
  CHECK(percent_decoded("a+b%2bc", plus_signs::are_blanks) == "a b+c");
  CHECK(percent_decoded("a+b%2Bc", plus_signs::kept) == "a+b+c");
}

TEST_CASE("a % without two hexadecimal digits decodes to nothing") {
  for (const std::string_view damaged : {"%", "a%4", "%4g", "%g4", "%-1", "%+1", "% 1", "%%41", "%0x41"})
    CHECK_MESSAGE(!percent_decoded(damaged, plus_signs::kept), damaged);
}

TEST_CASE("a query is sorted by its encoded names, then values") {
  CHECK(encoded_query({}).empty());
  CHECK(encoded_query({{"prefix", "a/b +"}, {"list-type", "2"}}) == "list-type=2&prefix=a%2Fb%20%2B");
  CHECK(encoded_query({{"b", ""}, {"a", "2"}, {"a", "1"}, {"A", "3"}, {"\xC3\xA4", "x"}}) ==
        "%C3%A4=x&A=3&a=1&a=2&b=");
}

}  // namespace wick_test::percent_encoding_tests
