// Signatures of requests to S3, as AWS's documentation and AWS's library for Python compute them.
#include <ctime>
#include <string>
#include <string_view>
#include <utility>

#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include <wick/io/detail/percent_encoding.hpp>
#include <wick/stores/detail/aws_credentials.hpp>
#include <wick/stores/detail/aws_signature.hpp>
#include <wick/stores/detail/s3_address.hpp>
#include <wick/stores/detail/s3_listing.hpp>

namespace wick_test::aws_signature_tests {

using wick::detail::aws_request;
using wick::detail::aws_settings;
using wick::detail::aws_signer;
using wick::detail::name_values;

namespace {

constexpr std::time_t documented_time = 1369353600;  // 20130524T000000Z

/// The keys of AWS's documentation.
aws_settings documented_keys() {
  aws_settings out;
  out.access_key = "AKIAIOSFODNN7EXAMPLE";
  out.secret_key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
  return out;
}

/// Empty when there is none of that name.
std::string value_of(const name_values& headers, std::string_view name) {
  for (const auto& [each, value] : headers) {
    if (each == name) return value;
  }
  return {};
}

std::string signature_of(const name_values& headers) {
  const std::string all = value_of(headers, "Authorization");
  return all.substr(all.rfind('=') + 1);
}

aws_request documented_request() {
  aws_request out;
  out.host = "examplebucket.s3.amazonaws.com";
  return out;
}

}  // namespace

TEST_CASE("requests of AWS's documentation have the signatures that it prints") {
  aws_signer signer(documented_keys());
  aws_request get = documented_request();
  get.path = "/test.txt";
  get.headers = {{"Range", "bytes=0-9"}};
  const name_values headers = signer.sign(get, documented_time);
  CHECK(value_of(headers, "Authorization") ==
        "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"
        "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,"
        "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
  CHECK(value_of(headers, "x-amz-date") == "20130524T000000Z");
  CHECK(value_of(headers, "Range") == "bytes=0-9");

  aws_request list = documented_request();
  list.query = {{"prefix", "J"}, {"max-keys", "2"}};
  CHECK(signature_of(signer.sign(list, documented_time)) ==
        "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");

  aws_request lifecycle = documented_request();
  lifecycle.query = {{"lifecycle", ""}};
  CHECK(signature_of(signer.sign(lifecycle, documented_time)) ==
        "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
}

TEST_CASE("URLs and signatures are those of AWS's library for Python (botocore 1.44.8)") {
  std::string longest;
  for (int i = 0; i < 204; ++i) longest += "ab+ /";
  longest += "1024";
  struct request {
    std::string_view method, key, region, endpoint, token, range, url, signature;
  };
  const request objects[] = {
      {"GET", "a plain key.jpg", "eu-central-1", "", "", "",
       "https://examplebucket.s3.eu-central-1.amazonaws.com/a%20plain%20key.jpg",
       "8b65268d492afb2628b7eb5147046bb9295f19f0da077abc1201f05b84a92242"},
      {"GET", "100%+1=?#&'\"<>!*()@:,;$[]{}|\\^`~.txt", "us-west-2", "", "", "",
       "https://examplebucket.s3.us-west-2.amazonaws.com/"
       "100%25%2B1%3D%3F%23%26%27%22%3C%3E%21%2A%28%29%40%3A%2C%3B%24%5B%5D%7B%7D%7C%5C%5E%60~.txt",
       "d3115a7a845eb4168e6be8b1111454736cf406169f793d120020f1162c1ffd90"},
      {"HEAD",
       "\xC3\x9C"
       "bung/\xE6\x97\xA5\xE6\x9C\xAC/\xF0\x9D\x84\x9E.tar",
       "ap-northeast-1", "", "", "",
       "https://examplebucket.s3.ap-northeast-1.amazonaws.com/"
       "%C3%9Cbung/%E6%97%A5%E6%9C%AC/%F0%9D%84%9E.tar",
       "5f895ab75915440386e7009bd616e662de6e4a7c965c8bbb0b505cbcede5c8bf"},
      {"GET", "a/./b/../c//d", "eu-west-1", "", "", "",
       "https://examplebucket.s3.eu-west-1.amazonaws.com/a/./b/../c//d",
       "c438cdd41c1c86cbb04aa1e119add88095f2dfbd4835c06079b65cbeebe0a1a0"},
      {"GET", longest, "us-east-1", "", "", "bytes=0-99", "",
       "eeafcb33bf6d3578bb09718d80dfcbace8bace1cb3d4924f4a736aec14c0c334"},
      {"GET", "tab\tline\nend\x7F", "eu-north-1", "", "token/with+==", "",
       "https://examplebucket.s3.eu-north-1.amazonaws.com/tab%09line%0Aend%7F",
       "6eb30dc2b80a5bd2d74484c023c4cf55059341a98bf8cc6439cb28fe5566d698"},
      {"GET", "train/0001.tar", "us-east-1", "http://localhost:9000", "", "",
       "http://localhost:9000/examplebucket/train/0001.tar",
       "f11e4dafd15557af261cd368c3fbf48c05cc49e1846fb2c3450a2844eccb83a1"},
      {"HEAD", "train/0001.tar", "us-east-1", "https://store.example:443/", "token/with+==", "",
       "https://store.example/examplebucket/train/0001.tar",
       "6e403364801a5b62618d2561ca08969a1b918abbd4fc85c710469a06367df537"},
      {"LIST", "train/\xC3\xA4 +", "eu-central-1", "", "", "",
       "https://examplebucket.s3.eu-central-1.amazonaws.com/",
       "c0613347dd46520739bd8329b04eb7b99a8e2b6249173f9d79e539415056350a"},
      {"LIST", "", "us-east-1", "http://[::1]:9000", "", "", "http://[::1]:9000/examplebucket",
       "b1dfda24a47296d68f85bb2c3266c964c7c2a6975a8cafdf9a9bb57147149edb"},
  };
  for (const request& r : objects) {
    CAPTURE(r.key);
    aws_settings settings = documented_keys();
    settings.region = r.region;
    settings.endpoint = r.endpoint;
    settings.session_token = r.token;
    const bool is_list = r.method == "LIST";
    const wick::detail::s3_url url =
        url_of({.bucket = "examplebucket", .key = is_list ? "" : std::string(r.key)}, settings);
    if (!r.url.empty()) CHECK(url.origin + url.path == r.url);
    aws_request request;
    request.method = is_list ? "GET" : r.method;
    request.host = url.host;
    request.path = url.path;
    if (!r.range.empty()) request.headers = {{"Range", std::string(r.range)}};
    if (is_list)
      request.query = wick::detail::s3_page_query(
          std::string(r.key), r.key.empty() ? "1ueGcxLPRx1Tr/XYExHnhbYLgveDs2J/wm36Hy4vbOwM=" : "");
    const name_values headers = aws_signer(settings).sign(request, 1709251198);
    CHECK(signature_of(headers) == r.signature);
    CHECK(value_of(headers, "x-amz-security-token") == r.token);
  }
}

TEST_CASE("a signer that signed on another day signs as a new one") {
  aws_signer kept(documented_keys());
  for (const std::time_t day : {0, 1, 1, 0, 2}) {
    const std::time_t now = documented_time + day * 86400;
    aws_signer fresh(documented_keys());
    CHECK(kept.sign(documented_request(), now) == fresh.sign(documented_request(), now));
  }
}

TEST_CASE("a header is signed whatever its case and its blanks") {
  aws_signer signer(documented_keys());
  aws_request one = documented_request(), other = documented_request();
  one.headers = {{"x-amz-request-payer", "requester of it"}, {"Range", "bytes=0-9"}};
  other.headers = {{"RANGE", " bytes=0-9  "}, {"X-Amz-Request-Payer", "requester   of it"}};
  CHECK(signature_of(signer.sign(one, documented_time)) == signature_of(signer.sign(other, documented_time)));
}

TEST_CASE("an anonymous request has no headers but its own") {
  aws_settings anonymous;
  anonymous.anonymous = true;
  aws_request request = documented_request();
  CHECK(aws_signer(anonymous).sign(request, documented_time).empty());
  request.headers = {{"Range", "bytes=0-9"}};
  CHECK(aws_signer(anonymous).sign(request, documented_time) == request.headers);
}

TEST_CASE("a time that no clock shows is an error") {
  aws_signer signer(documented_keys());
  CHECK(wick_test::contains(
      wick_test::message_of([&] { return signer.sign(documented_request(), std::time_t{1} << 50); }),
      "s3: ", "the system clock is out of range"));
}

}  // namespace wick_test::aws_signature_tests
