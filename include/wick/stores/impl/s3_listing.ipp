// Implements stores/detail/s3_listing.hpp. Included in exactly one file of a program, which links pugixml.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <pugixml.hpp>
#include <system_error>
#include <utility>

#include <wick/io/detail/source_file.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/stores/detail/s3_listing.hpp>
#include <wick/stores/detail/url_parts.hpp>

namespace wick::inline v0_1::detail {

namespace {

pugi::xml_parse_result load_xml(pugi::xml_document& into, std::string_view xml) {
  // A key may be a single blank.
  return into.load_buffer(xml.data(), xml.size(), pugi::parse_default | pugi::parse_ws_pcdata_single,
                          pugi::encoding_utf8);
}

/// At most 400 printable bytes, cut between characters.
std::string short_text(std::string_view text) {
  constexpr std::size_t most = 400;
  std::string out = printable(text.substr(0, most));
  if (out.size() > most || text.size() > most) {
    std::size_t end = std::min(out.size(), most - 3);
    while (end > 0 && (static_cast<unsigned char>(out[end]) & 0xC0) == 0x80) --end;
    out.replace(end, std::string::npos, "...");
  }
  return out;
}

s3_error error_of(const pugi::xml_document& document) {
  const pugi::xml_node answer = document.child("Error");
  return {short_text(answer.child_value("Code")), short_text(answer.child_value("Message")),
          short_text(answer.child_value("Region"))};
}

/// The members of a response; messages name the list.
class page_reader {
 public:
  page_reader(std::string_view xml, std::string_view url) : url_(url) {
    const pugi::xml_parse_result parsed = load_xml(document_, xml);
    if (!parsed)
      throw problem(std::string("isn't XML (") + parsed.description() + " at byte " +
                    std::to_string(parsed.offset) + "); see that the endpoint is an S3 server");
    if (document_.child("Error")) throw source_error(url_, scheme_of(url_), error_of(document_).text());
    answer_ = document_.child("ListBucketResult");
    if (!answer_)
      throw problem("is <" + short_text(document_.first_child().name()) +
                    ">, not <ListBucketResult>; see that the endpoint is an S3 server");
    is_encoded_ = std::string_view(answer_.child_value("EncodingType")) == "url";
  }

  object_page read() const {
    object_page out;
    for (const pugi::xml_node entry : answer_.children("Contents"))
      out.objects.push_back({key(entry), size(entry), entry.child_value("ETag")});
    const std::string_view truncated = answer_.child_value("IsTruncated");
    if (truncated != "true" && truncated != "false")
      throw problem("has \"" + short_text(truncated) + "\" as IsTruncated, not true or false");
    if (truncated == "false") return out;
    out.next = answer_.child_value("NextContinuationToken");
    if (out.next.empty())
      throw problem(
          "says that more follows, and has no NextContinuationToken; the server must support "
          "ListObjectsV2");
    return out;
  }

 private:
  std::string key(pugi::xml_node entry) const {
    std::string key = entry.child_value("Key");
    if (is_encoded_) {
      std::optional<std::string> decoded = percent_decoded(key, plus_signs::are_blanks);
      if (!decoded) throw problem("has a key with a % that encodes no byte: \"" + short_text(key) + '"');
      key = std::move(*decoded);
    }
    if (key.empty()) throw problem("has an object without a key");
    return key;
  }
  std::uint64_t size(pugi::xml_node entry) const {
    const std::string_view digits = entry.child_value("Size");
    std::uint64_t size = 0;
    const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), size);
    if (fault != std::errc() || end != digits.data() + digits.size())
      throw problem("has \"" + short_text(digits) + "\" as the size of \"" +
                    short_text(entry.child_value("Key")) + '"');
    return size;
  }
  error problem(const std::string& what) const {
    return source_error(url_, scheme_of(url_), "the server's list of objects " + what);
  }

  std::string_view url_;
  pugi::xml_document document_;
  pugi::xml_node answer_;
  bool is_encoded_ = false;
};

}  // namespace

name_values s3_page_query(const std::string& prefix, const std::string& continuation_token) {
  name_values out = {{"list-type", "2"},
                     {"encoding-type", "url"},
                     {"max-keys", "1000"},  // at most
                     {"prefix", prefix}};
  if (!continuation_token.empty()) out.emplace_back("continuation-token", continuation_token);
  return out;
}

object_page parse_s3_page(std::string_view xml, std::string_view url) { return page_reader(xml, url).read(); }

std::string s3_error::text() const {
  if (code.empty()) return message.empty() ? "the server gives no reason" : message;
  return message.empty() ? code : code + ": " + message;
}

s3_error parse_s3_error(std::string_view xml) {
  pugi::xml_document document;
  // The part of a damaged response before the damage is better than nothing.
  static_cast<void>(load_xml(document, xml));
  return error_of(document);
}

}  // namespace wick::detail
