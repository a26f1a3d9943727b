// "s3://bucket/key" and its URL.
#include <string>

#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include <wick/stores/detail/aws_credentials.hpp>
#include <wick/stores/detail/s3_address.hpp>

namespace wick_test::s3_address_tests {

using wick::detail::aws_settings;
using wick::detail::parse_s3_address;
using wick::detail::s3_address;
using wick::detail::s3_url;
using wick::detail::url_of;
using wick_test::contains;
using wick_test::message_of;

namespace {

aws_settings at(const std::string& endpoint, const std::string& region = "eu-central-1") {
  aws_settings out;
  out.endpoint = endpoint;
  out.region = region;
  return out;
}

std::string url(const std::string& address, const aws_settings& settings, bool virtual_hosted = false) {
  const s3_url out = url_of(parse_s3_address(address), settings, virtual_hosted);
  CHECK(out.origin.ends_with("://" + out.host));
  return out.origin + out.path;
}

}  // namespace

TEST_CASE("an address is a bucket and a key of any bytes, which may be empty") {
  const auto is = [](const std::string& text, const std::string& bucket, const std::string& key) {
    const s3_address a = parse_s3_address(text);
    CHECK(a.bucket == bucket);
    CHECK(a.key == key);
  };
  is("s3://bucket", "bucket", "");
  is("s3://bucket/", "bucket", "");
  is("s3://bucket/train/0001.tar", "bucket", "train/0001.tar");
  is("s3://my.bucket-1//a//b/", "my.bucket-1", "/a//b/");
  is("s3://bucket/train/*.tar", "bucket", "train/*.tar");
  is("s3://bucket/100%?a=b#c\xFF\n", "bucket", "100%?a=b#c\xFF\n");
  is(std::string("s3://bucket/\0", 13), "bucket", std::string(1, '\0'));
  is("s3://bucket/" + std::string(1024, 'k'), "bucket", std::string(1024, 'k'));
  CHECK(parse_s3_address("s3://bucket").text() == "s3://bucket/");
  CHECK(parse_s3_address("s3://bucket/a b").text() == "s3://bucket/a b");
}

TEST_CASE("what is no address is an error that says why") {
  const auto refused = [](const std::string& text, const std::string& why) {
    const std::string message = message_of([&] { return parse_s3_address(text); });
    CAPTURE(message);
    CHECK(contains(message, ": s3: ", why, "write s3://BUCKET/KEY"));
  };
  refused("", "does not begin with s3://");
  refused("S3://bucket/key", "does not begin");
  refused("http://bucket/key", "does not begin");
  refused("s3://", "has no bucket");
  refused("s3:///key", "has no bucket");
  refused("s3://ab/key", "has 2 characters");
  refused("s3://" + std::string(256, 'b'), "has 256 characters");
  for (const std::string bucket : {"a:b", "a@bcd", "a b", "a..b", ".abc", "-abc", "_abc", "a\nbc",
                                   "b\xC3\xBC"
                                   "cket",
                                   "arn:aws:s3:::bucket", "a%62c", "[::1]"})
    refused("s3://" + bucket + "/key", "isn't a bucket name");
  refused("s3://bucket/" + std::string(1025, 'k'), "has 1025 bytes");
}

TEST_CASE("at AWS the bucket is in the host's name, where a certificate covers it") {
  CHECK(url("s3://bucket/a b/\xC3\xA4+", at("")) ==
        "https://bucket.s3.eu-central-1.amazonaws.com/a%20b/%C3%A4%2B");
  CHECK(url("s3://bucket", at("")) == "https://bucket.s3.eu-central-1.amazonaws.com/");
  CHECK(url("s3://my.bucket/key", at("")) == "https://s3.eu-central-1.amazonaws.com/my.bucket/key");
  CHECK(url("s3://My_Bucket/key", at("")) == "https://s3.eu-central-1.amazonaws.com/My_Bucket/key");
  CHECK(url("s3://" + std::string(64, 'b') + "/k", at("")).starts_with("https://s3."));
  CHECK(url("s3://bucket/key", at("", "cn-north-1")) == "https://bucket.s3.cn-north-1.amazonaws.com.cn/key");
}

TEST_CASE("at an endpoint the bucket is in the path, unless it is wanted in the host's name") {
  const aws_settings local = at("http://localhost:9000");
  CHECK(url("s3://bucket/a/b", local) == "http://localhost:9000/bucket/a/b");
  CHECK(url("s3://bucket", local) == "http://localhost:9000/bucket");
  CHECK(url("s3://bucket//a", local) == "http://localhost:9000/bucket//a");
  CHECK(url("s3://bucket/../a", local) == "http://localhost:9000/bucket/../a");
  CHECK(url("s3://bucket/k", local, true) == "http://bucket.localhost:9000/k");
  CHECK(url("s3://bucket/k", at("https://Store.Example/"), true) == "https://bucket.store.example/k");
  CHECK(url("s3://bucket/k", at("https://store.example/s3/v2//")) == "https://store.example/s3/v2/bucket/k");
  CHECK(url("s3://bucket/k", at("http://[::1]:9000")) == "http://[::1]:9000/bucket/k");
  CHECK(url("s3://bucket/k", at("http://[::1]")) == "http://[::1]/bucket/k");
}

TEST_CASE("a port that the scheme has anyway is left out, as in the header Host") {
  const auto host = [](const char* endpoint) { return url_of({.bucket = "bucket"}, at(endpoint)).host; };
  CHECK(host("http://h:80") == "h");
  CHECK(host("https://h:443/") == "h");
  CHECK(host("http://h:443") == "h:443");
  CHECK(host("https://h:80") == "h:80");
  CHECK(host("http://h:0080") == "h");
}

TEST_CASE("an endpoint or region that makes no URL is an error that says why") {
  const auto refused = [](const aws_settings& settings, const std::string& why) {
    const std::string message = message_of([&] { return url("s3://bucket/key", settings); });
    CAPTURE(message);
    CHECK(contains(message, "s3: ", why));
    CHECK(!contains(message, "hidden"));
  };
  refused(at("localhost:9000"), "begins neither with http:// nor with https://; write it as");
  refused(at("ftp://h"), "begins neither");
  refused(at("http://user:hidden@h"), "has an @");
  for (const char* const none : {"http://", "http:///path", "http://:9000", "http://a b", "http://a\nb",
                                 "http://h?x", "http://[]:1", "http://[::1", "http://[a]b:1", "http://h:1:2"})
    refused(at(none), "has no name of a host");
  for (const char* const port : {"http://h:", "http://h:0", "http://h:65536", "http://h:99999999999",
                                 "http://h:a", "http://h:-1", "http://h:80x"})
    refused(at(port), "has no number from 1 to 65535");
  for (const char* const path :
       {"http://h/a b", "http://h/?x", "http://h/#", "http://h/\x7F", "http://h/\xC3\xA4"})
    refused(at(path), "has a character that no path");
  for (const char* const region : {"", "eu central", "EU-WEST-1", "a/b", "a.b", "a\nb"})
    refused(at("", region), "isn't a region; set AWS_REGION");
}

}  // namespace wick_test::s3_address_tests
