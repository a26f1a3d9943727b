// The heads of answers: ranges, versions, and what hostile ones come to.
#include <cstdint>
#include <random>
#include <string>
#include <string_view>

#include "support/doctest.hpp"
#include <wick/stores/detail/http_answer.hpp>

namespace wick_test::http_answer_tests {

using wick::detail::http_answer;
using wick::detail::parse_content_range;

namespace {

http_answer answer(std::string_view lines) {
  http_answer out;
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n') + 1;
    REQUIRE(out.add(lines.substr(0, end)));
    lines.remove_prefix(end);
  }
  return out;
}

}  // namespace

TEST_CASE("Content-Range is parsed as RFC 9110 has it") {
  http_answer a;
  CHECK(parse_content_range("bytes 5-9/100", a));
  CHECK((a.first == 5 && a.end == 10 && a.size == 100));
  CHECK(parse_content_range("  bytes 0-0/*\r\n", a));
  CHECK((a.first == 0 && a.end == 1 && a.size == http_answer::unknown));
  CHECK(parse_content_range("bytes */7", a));
  CHECK((a.first == http_answer::unknown && a.end == http_answer::unknown && a.size == 7));
  for (const char* wrong :
       {"", "bytes", "bytes 5-9", "bytes 9-5/100", "bytes 0-100/100", "bytes -5/100", "bytes 5-/100",
        "bytes 0x5-9/100", "items 5-9/100", "bytes 5-9/100 ,", "bytes 0-99999999999999999999/*",
        "bytes 0-9223372036854775808/*", "bytes a-b/c"}) {
    CAPTURE(wrong);
    CHECK_FALSE(parse_content_range(wrong, a));
  }
}

TEST_CASE("the head of the last answer counts, in any case of letters") {
  const http_answer a = answer(
      "HTTP/1.1 302 Found\r\nLocation: /b\r\nETag: \"x\"\r\n\r\nHTTP/1.1 206 Partial Content\r\n"
      "content-RANGE: bytes 0-9/20\r\nContent-length: 10\r\nLast-Modified: Thu, 01 Jan 1970 00:00:00 "
      "GMT\r\n\r\n");
  CHECK((a.status == 206 && a.first == 0 && a.end == 10 && a.size == 20 && a.length == 10));
  CHECK(a.location.empty());
  CHECK(a.version != 0);
  CHECK(a.version != answer("HTTP/1.1 302 Found\r\nETag: \"x\"\r\n").version);
  CHECK(answer("HTTP/2 200\r\netag: \"x\"\r\nlast-modified: y\r\n").version ==
        answer("HTTP/2 200\r\nlast-modified: z\r\netag: \"x\"\r\n").version);
  CHECK(answer("HTTP/2 301\r\nx-amz-bucket-region: eu-west-1\r\n").region == "eu-west-1");
  CHECK(answer("HTTP/2 503\r\nretry-after: 3\r\n").retry_after == 3);
  CHECK(answer("HTTP/2 503\r\nretry-after: Fri, 31 Dec 1999 23:59:59 GMT\r\n").retry_after == 0);
}

TEST_CASE("an answer that isn't the range asked for has a fault") {
  CHECK(answer("HTTP/1.1 206 x\r\nContent-Range: bytes 5-9/10\r\n").fault(5, 10, 5).empty());
  CHECK(answer("HTTP/1.1 200 x\r\nContent-Range: bytes 5-9/10\r\n").fault(5, 10, 5).empty());
  CHECK(answer("HTTP/1.1 206 x\r\nContent-Range: bytes 5-7/10\r\n")
            .fault(5, 10, 5)
            .empty());  // the rest is asked for again
  CHECK_FALSE(answer("HTTP/1.1 206 x\r\nContent-Range: bytes 4-9/10\r\n").fault(5, 10, 5).empty());
  CHECK_FALSE(answer("HTTP/1.1 206 x\r\nContent-Range: bytes 5-10/11\r\n").fault(5, 10, 5).empty());
  CHECK_FALSE(answer("HTTP/1.1 206 x\r\n").fault(0, 10, 0).empty());
  CHECK(answer("HTTP/1.1 200 x\r\n").fault(0, 10, 0).empty());
  CHECK(answer("HTTP/1.1 200 x\r\n").fault(1000, 2000, 1000).empty());
  CHECK_FALSE(answer("HTTP/1.1 200 x\r\n").fault(1u << 30, (1u << 30) + 1, 1u << 30).empty());
  CHECK(answer("HTTP/1.1 200 x\r\n").fault(1u << 30, (1u << 30) + 1, 0).empty());  // an earlier one broke off
  for (const int status : {0, 301, 403, 404, 416, 500, 503}) {
    http_answer a;
    a.status = status;
    CHECK_FALSE(a.fault(0, 10, 0).empty());
    CHECK(a.may_pass() == (status >= 500));
  }
}

TEST_CASE("any bytes are taken for a head, up to a bound") {
  std::mt19937 random(1);
  const std::string_view words[] = {
      "HTTP/1.1 206", "Content-Range:",      "bytes ", "0-9/10", "ETag:", "\r\n",
      "\0",           "9999999999999999999", ":"};
  for (int round = 0; round < 20'000; ++round) {
    http_answer a;
    for (int i = 0; i < 10; ++i) {
      std::string line;
      for (unsigned n = random() % 6; n != 0; --n) line += words[random() % std::size(words)];
      line += static_cast<char>(random());
      CHECK(a.add(line));
    }
    static_cast<void>(a.fault(0, 10, 0));
  }
  http_answer a;
  std::size_t lines = 0;
  while (a.add("X: " + std::string(1000, 'x') + "\r\n")) ++lines;
  CHECK(lines < 300);
}

}  // namespace wick_test::http_answer_tests
