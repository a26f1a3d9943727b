// Implements stores/detail/url_parts.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <system_error>

#include <wick/io/detail/percent_encoding.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/stores/detail/url_parts.hpp>

namespace wick::inline v0_1::detail {

bool has_only(std::string_view text, std::string_view more) noexcept {
  constexpr std::string_view lower_and_digits = "abcdefghijklmnopqrstuvwxyz0123456789";
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return lower_and_digits.find(c) != std::string_view::npos || more.find(c) != std::string_view::npos;
  });
}

std::string_view scheme_of(std::string_view url) noexcept { return url.substr(0, url.find("://")); }

endpoint_url::endpoint_url(std::string_view text, std::string_view who) {
  const auto refuse = [&](const char* what) {
    return error(std::string(who) + ": the endpoint \"" + printable(text) + "\" " + what +
                 "; write it as http://localhost:9000");
  };
  // Messages must not show a name or a password.
  if (text.find('@') != std::string_view::npos)
    throw error(std::string(who) +
                ": the endpoint has an @; leave out the name of a user, and give keys in the environment");
  scheme = text.starts_with("https://") ? "https://" : "http://";
  if (!text.starts_with(scheme)) throw refuse("begins neither with http:// nor with https://");
  std::string_view left = text.substr(scheme.size());
  path = left.substr(std::min(left.find('/'), left.size()));
  left.remove_suffix(path.size());
  while (path.ends_with('/')) path.pop_back();

  std::size_t end = left.rfind(':');
  if (end == std::string_view::npos || left.ends_with(']')) end = left.size();
  host = lower_case(left.substr(0, end));
  const bool is_ipv6 = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (host.empty() ||
      !(is_ipv6 ? has_only(std::string_view(host).substr(1, host.size() - 2), ":.") : has_only(host, "-._")))
    throw refuse("has no name of a host");
  for (const char c : path) {
    if (c <= ' ' || c >= '\x7F' || c == '?' || c == '#' || c == '\\')
      throw refuse("has a character that no path of an endpoint has");
  }
  if (end == left.size()) return;
  const std::string_view digits = left.substr(end + 1);
  unsigned number = 0;
  const auto [last, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (fault != std::errc() || last != digits.data() + digits.size() || number == 0 || number > 65535)
    throw refuse("has no number from 1 to 65535 as its port");
  if (number != (scheme == "https://" ? 443u : 80u)) port = ':' + std::to_string(number);
}

}  // namespace wick::detail
