// Implements stores/detail/url_locator.hpp. Included in exactly one file of a program.
#pragma once

#include <utility>

#include <wick/io/detail/source_file.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/sources/detail/glob.hpp>
#include <wick/stores/detail/url_locator.hpp>
#include <wick/stores/detail/url_parts.hpp>

namespace wick::inline v0_1::detail {

namespace {

/// The names of objects on web servers.
std::vector<remote_name> web_names(const std::string& pattern) {
  if (!pattern.starts_with("https://") && !pattern.starts_with("http://")) {
    throw source_error(
        is_url(pattern) ? shown_url(pattern) : pattern, "remote",
        "does not begin with https://, http://, s3://, gs://, az:// or hf://; give a local path to "
        "the source itself");
  }
  if (std::string_view(pattern).substr(0, pattern.find('?')).find('*') != std::string_view::npos ||
      pattern.ends_with('/')) {
    throw source_error(shown_url(pattern), "remote",
                       "stands for several names, and a web server lists no names; write them with braces: "
                       "train-{000..146}.tar");
  }
  std::vector<remote_name> out;
  for (std::string& url : expand_braces(pattern)) {
    require_encoded(url, "remote");
    out.push_back({std::move(url)});
  }
  return out;
}

}  // namespace

http_locator* url_locator::of(std::string_view url) noexcept {
  const std::string_view scheme = scheme_of(url);
  if (scheme == "s3") return &s3_;
  if (scheme == "gs") return &gs_;
  if (scheme == "az") return &az_;
  if (scheme == "hf") return &hf_;
  return nullptr;
}

bool url_locator::ready(const char* url) {
  http_locator* const by = of(url);
  return by == nullptr || by->ready(url);
}

http_address url_locator::locate(const char* url) {
  http_locator* const by = of(url);
  return by == nullptr ? http_address{url, options_.headers} : by->locate(url);
}

bool url_locator::has_other_settings(const char* url, std::uint64_t keys) {
  http_locator* const by = of(url);
  return by != nullptr && by->has_other_settings(url, keys);
}

void url_locator::redirected(const char* url, const char* to) {
  if (http_locator* const by = of(url); by != nullptr) by->redirected(url, to);
}

std::string url_locator::pinned(http_client& client, const std::string& pattern) {
  http_locator* const by = of(pattern);
  return by == nullptr ? pattern : by->pinned(client, pattern);
}

std::vector<remote_name> url_locator::names(http_client& client, const std::string& pattern) {
  http_locator* const by = of(pattern);
  return by == nullptr ? web_names(pattern) : by->names(client, pattern);
}

}  // namespace wick::detail
