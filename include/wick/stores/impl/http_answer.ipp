// Implements stores/detail/http_answer.hpp. Included in exactly one file of a program.
#pragma once

#include <charconv>
#include <system_error>
#include <utility>

#include <wick/ext/fingerprint.hpp>
#include <wick/io/detail/percent_encoding.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/stores/detail/http_answer.hpp>

namespace wick::inline v0_1::detail {

std::string_view without_blanks(std::string_view text) noexcept {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

namespace {

/// Parses all of `text`, a number less than 2^63.
bool parse_number(std::string_view text, std::uint64_t& to) noexcept {
  std::uint64_t n = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (code != std::errc() || end != text.data() + text.size() || n >> 63 != 0) return false;
  to = n;
  return true;
}

}  // namespace

bool parse_content_range(std::string_view text, http_answer& into) noexcept {
  text = without_blanks(text);
  if (!text.starts_with("bytes ")) return false;
  text = without_blanks(text.substr(6));
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return false;
  const std::string_view range = without_blanks(text.substr(0, slash)),
                         size = without_blanks(text.substr(slash + 1));
  std::uint64_t first = http_answer::unknown, last = 0, all = http_answer::unknown;
  if (size != "*" && !parse_number(size, all)) return false;
  if (range != "*") {
    const std::size_t dash = range.find('-');
    if (dash == std::string_view::npos || !parse_number(range.substr(0, dash), first) ||
        !parse_number(range.substr(dash + 1), last) || last < first || last >= all)
      return false;
  }
  into.first = first;
  into.end = range == "*" ? http_answer::unknown : last + 1;
  into.size = all;
  return true;
}

std::uint64_t version_of(std::string_view text) noexcept {
  if (text.starts_with("W/")) text.remove_prefix(2);
  if (text.size() >= 2 && text.starts_with('"') && text.ends_with('"'))
    text = text.substr(1, text.size() - 2);
  return text.empty() ? 0 : fingerprint_hash().add(text).value() | 1;
}

std::uint64_t version_of_size(std::uint64_t size) noexcept {
  return fingerprint_hash().add(size).value() | 1;
}

bool http_answer::add(std::string_view line) {
  bytes += line.size();
  if (bytes > most_bytes) return false;
  if (line.starts_with("HTTP/")) {  // also after an earlier response: a redirect, 100 Continue
    const std::size_t read = bytes;
    *this = {};
    bytes = read;
    std::uint64_t number = 0;
    const std::size_t space = line.find(' ');
    if (space != std::string_view::npos && parse_number(without_blanks(line).substr(space + 1, 3), number))
      status = static_cast<int>(number);
    return true;
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return true;
  const std::string name = lower_case(line.substr(0, colon));
  const std::string_view value = without_blanks(line.substr(colon + 1));
  if (name == "content-range") {
    parse_content_range(value, *this);
  } else if (name == "content-length") {
    parse_number(value, length);
  } else if (name == "etag" || (name == "last-modified" && version == 0)) {
    version = version_of(value);
    version_text = (name == "etag" ? "ETag " : "Last-Modified ") + std::string(value.substr(0, 100));
  } else if (name == "content-encoding") {
    // Other values, such as S3's "aws-chunked" and a wrong "utf-8", don't change the content.
    for (const std::string_view known : {"x-gzip", "gzip", "deflate", "br", "zstd", "compress"}) {
      if (encoding.empty() && lower_case(value).find(known) != std::string::npos) encoding = known;
    }
  } else if (name == "retry-after") {
    std::uint64_t seconds = 0;
    if (parse_number(value, seconds)) retry_after = static_cast<double>(seconds);
  } else if (name == "date") {
    date = value.substr(0, 64);
  } else if (name == "location") {
    location = value.substr(0, 1024);
  } else if (name == "x-amz-bucket-region") {
    region = value.substr(0, 64);
  }
  return true;
}

std::string http_answer::fault(std::uint64_t from, std::uint64_t to, std::uint64_t begin) const {
  const auto range = [](std::uint64_t a, std::uint64_t b) {
    return "bytes " + std::to_string(a) + " to " + std::to_string(b - 1);
  };
  // Some servers send a range with 200.
  if (status != 200 && status != 206) return "the server answers " + status_text(status);
  if (!encoding.empty()) {
    return "the server sends it compressed (Content-Encoding: " + encoding +
           "); store it uncompressed, or without that header";
  }
  if (end != unknown) {
    if (first == from && end <= to) return {};
    return "the server sends " + range(first, end) + " for " + range(from, to);
  }
  if (status == 206) return "the server sends a part and doesn't say which (206 without Content-Range)";
  if (begin <= most_dropped) return {};  // the whole object, from the first byte
  return "the server sends all for " + range(from, to) + "; use one that knows ranges";
}

bool http_answer::may_pass() const noexcept {
  return status == 408 || status == 425 || status == 429 || status == 500 || status == 502 || status == 503 ||
         status == 504;
}

std::string status_text(int status) {
  static constexpr std::pair<int, const char*> texts[] = {{301, "Moved Permanently"},
                                                          {302, "Found"},
                                                          {307, "Temporary Redirect"},
                                                          {308, "Permanent Redirect"},
                                                          {400, "Bad Request"},
                                                          {401, "Unauthorized"},
                                                          {403, "Forbidden"},
                                                          {404, "Not Found"},
                                                          {408, "Request Timeout"},
                                                          {416, "Range Not Satisfiable"},
                                                          {425, "Too Early"},
                                                          {429, "Too Many Requests"},
                                                          {500, "Internal Server Error"},
                                                          {502, "Bad Gateway"},
                                                          {503, "Service Unavailable"},
                                                          {504, "Gateway Timeout"}};
  for (const auto& [number, text] : texts) {
    if (number == status) return std::to_string(status) + " " + text;
  }
  return std::to_string(status);
}

}  // namespace wick::detail
