// What S3 answers in XML.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include <wick/io/detail/percent_encoding.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/stores/detail/s3_listing.hpp>

namespace wick_test::s3_listing_tests {

using wick::detail::encoded_query;
using wick::detail::object_page;
using wick::detail::parse_s3_error;
using wick::detail::parse_s3_page;
using wick::detail::s3_error;
using wick::detail::s3_page_query;
using wick_test::contains;
using wick_test::message_of;

namespace {

constexpr std::string_view url = "s3://bucket/train/";

std::string list_of(const std::string& inside) {
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
         "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">" +
         inside + "</ListBucketResult>";
}

std::string entry(const std::string& key, const std::string& size = "1") {
  return "<Contents><Key>" + key + "</Key><Size>" + size + "</Size></Contents>";
}

const std::string encoded = "<EncodingType>url</EncodingType>";
const std::string last = "<IsTruncated>false</IsTruncated>";

std::string key_of(const std::string& inside) {
  const object_page page = parse_s3_page(list_of(inside + last), url);
  REQUIRE(page.objects.size() == 1);
  return page.objects[0].key;
}

/// The message of a list that is refused.
std::string refused(const std::string& xml) {
  return message_of([&] { return parse_s3_page(xml, url); });
}

}  // namespace

TEST_CASE("a page has its objects, and says whether more follow") {
  const object_page page = parse_s3_page(
      list_of("<Name>bucket</Name><Prefix>train/</Prefix><KeyCount>2</KeyCount><MaxKeys>2</MaxKeys>" +
              encoded +
              "<IsTruncated>true</IsTruncated>\n"
              "<NextContinuationToken>1ueGcx/LPRx1+Tr=</NextContinuationToken>\n"
              "<Contents>\n  <Key>train/a%2Bb+c.tar</Key>\n"
              "  <LastModified>2009-10-12T17:50:30.000Z</LastModified>\n"
              "  <ETag>&quot;fba9dede5f27731c9771645a39863328&quot;</ETag>\n"
              "  <Size>5368709120</Size><StorageClass>STANDARD</StorageClass>\n</Contents>\n"
              "<Contents><Key>train/%E6%97%A5%01</Key><Size>0</Size></Contents>"),
      url);
  REQUIRE(page.objects.size() == 2);
  CHECK(page.objects[0].key == "train/a+b c.tar");
  CHECK(page.objects[0].size == 5368709120u);
  CHECK(page.objects[0].etag == "\"fba9dede5f27731c9771645a39863328\"");
  CHECK(page.objects[1].key == "train/\xE6\x97\xA5\x01");
  CHECK(page.objects[1].size == 0);
  CHECK(page.objects[1].etag.empty());
  CHECK(page.next == "1ueGcx/LPRx1+Tr=");

  const object_page empty = parse_s3_page(list_of(last), url);
  CHECK(empty.objects.empty());
  CHECK(empty.next.empty());
}

TEST_CASE("keys are decoded only where the server says that it encoded them") {
  CHECK(key_of(encoded + entry("a%2Bb+%25")) == "a+b %");
  CHECK(key_of(entry("a%2Bb+%")) == "a%2Bb+%");
  CHECK(key_of(entry("a&amp;b&lt;&#x41;")) == "a&b<A");
  CHECK(key_of(entry(" ")) == " ");
  CHECK(key_of(encoded + entry("%00")) == std::string(1, '\0'));
  CHECK(key_of(entry("<![CDATA[a<b]]>")) == "a<b");
}

TEST_CASE("the query of a page asks for encoded keys after the page before") {
  CHECK(encoded_query(s3_page_query("a b/")) ==
        "encoding-type=url&list-type=2&max-keys=1000&prefix=a%20b%2F");
  CHECK(encoded_query(s3_page_query("", "t/+=")) ==
        "continuation-token=t%2F%2B%3D&encoding-type=url&list-type=2&max-keys=1000&prefix=");
}

TEST_CASE("a list that can't be right is an error that names what was listed") {
  const auto is = [](const std::string& xml, const std::string& why) {
    const std::string message = refused(xml);
    CAPTURE(message);
    CHECK(contains(message, "s3://bucket/train/: s3: the server's list of objects ", why));
  };
  is("", "isn't XML");
  is("no", "isn't XML");
  is("<html><body>Welcome</body></html>", "is <html>, not <ListBucketResult>; see that the endpoint");
  is("<ListBucketResult><Contents>", "isn't XML");
  is(list_of(""), "has \"\" as IsTruncated");
  is(list_of("<IsTruncated>maybe</IsTruncated>"), "has \"maybe\" as IsTruncated");
  is(list_of("<IsTruncated>true</IsTruncated>"), "has no NextContinuationToken");
  for (const char* const size : {"", "-1", "+1", "1.5", "1e3", "0x10", " 1", "1 ", "18446744073709551616"})
    is(list_of(entry("k", size) + last), "as the size of \"k\"");
  CHECK(parse_s3_page(list_of(entry("k", "18446744073709551615") + last), url).objects[0].size == UINT64_MAX);
  is(list_of(entry("") + last), "an object without a key");
  is(list_of("<Contents/>" + last), "an object without a key");
  is(list_of("<Contents><Key><a/></Key></Contents>" + last), "an object without a key");
  is(list_of(encoded + entry("a%4") + last), "a % that encodes no byte: \"a%4\"");
}

TEST_CASE("an error is its code and message, short and printable") {
  const s3_error e = parse_s3_error(
      "<?xml version=\"1.0\"?>\n<Error><Code>AuthorizationHeaderMalformed</Code><Message>the region is "
      "wrong;\n"
      "expecting 'eu-central-1'</Message><Region>eu-central-1</Region><RequestId>4442</RequestId></Error>");
  CHECK(e.code == "AuthorizationHeaderMalformed");
  CHECK(e.region == "eu-central-1");
  CHECK(e.text() == "AuthorizationHeaderMalformed: the region is wrong;\\x0aexpecting 'eu-central-1'");

  CHECK(parse_s3_error("<Error><Code>NoSuchKey</Code></Error>").text() == "NoSuchKey");
  CHECK(parse_s3_error("<Error><Message>gone</Message></Error>").text() == "gone");
  for (const char* const other : {"", "no", "<Error/>", "<html/>", "<", "<Error", "\xFF\xFE<\0E"}) {
    CHECK(parse_s3_error(other).code.empty());
    CHECK(parse_s3_error(other).text() == "the server gives no reason");
  }
  CHECK(parse_s3_error("<Error><Code>SlowDown</Code><Mess").code == "SlowDown");

  std::string message;
  for (int i = 0; i < 10000; ++i) message += "\xC3\xA4\x1B";
  const s3_error hostile = parse_s3_error("<Error><Code>" + std::string(10000, 'C') + "</Code><Message>" +
                                          message + "</Message></Error>");
  CHECK(hostile.code == std::string(397, 'C') + "...");
  CHECK(hostile.message.size() <= 400);
  CHECK(hostile.message.ends_with("..."));
  CHECK(hostile.message.find('\x1B') == std::string::npos);
}

TEST_CASE("an error in the place of a list has its own words") {
  CHECK(refused("<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>") ==
        "s3://bucket/train/: s3: AccessDenied: Access Denied");
}

TEST_CASE("a deep or large list, and entities that would grow, are read or refused") {
  const std::size_t deep = 1'000'000;
  std::string nested, ends;
  for (std::size_t i = 0; i < deep; ++i) nested += "<a>";
  for (std::size_t i = 0; i < deep; ++i) ends += "</a>";
  CHECK(contains(refused(nested), "isn't XML"));
  CHECK(contains(refused(nested + ends), "is <a>"));
  CHECK(parse_s3_page(list_of(nested + ends + entry("k") + last), url).objects.size() == 1);
  CHECK(parse_s3_error(nested).code.empty());

  const std::string bomb =
      "<!DOCTYPE l [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;&a;\">"
      "<!ENTITY x SYSTEM \"file:///etc/passwd\">]>";
  CHECK(parse_s3_page(bomb + "<ListBucketResult>" + entry("&b;&x;") + last + "</ListBucketResult>", url)
            .objects[0]
            .key == "&b;&x;");
}

TEST_CASE("a list that is cut off or damaged anywhere is read or refused") {
  const std::string whole = list_of(encoded + last + entry("train/a%2Bb+c.tar", "12") + entry("b", "3"));
  for (std::size_t n = 0; n < whole.size(); ++n) CHECK(!refused(whole.substr(0, n)).empty());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    for (const char c : {'\0', '<', '>', '&', '%', '\xFF', '"'}) {
      std::string damaged = whole;
      damaged[i] = c;
      static_cast<void>(refused(damaged));
      static_cast<void>(parse_s3_error(damaged));
    }
  }
}

}  // namespace wick_test::s3_listing_tests
