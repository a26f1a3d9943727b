/// \file
/// The bodies of what stores/detail/s3_address.hpp declares. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>

#include <wick/io/detail/percent_encoding.hpp>
#include <wick/io/detail/source_file.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/stores/detail/aws_credentials.hpp>
#include <wick/stores/detail/s3_address.hpp>

namespace wick::inline v0_1::detail {

namespace {

constexpr std::string_view lower_and_digits = "abcdefghijklmnopqrstuvwxyz0123456789";
constexpr std::string_view s3_scheme = "s3://";

bool has_only(std::string_view text, std::string_view more) {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return lower_and_digits.find(c) != std::string_view::npos || more.find(c) != std::string_view::npos;
  });
}

/// Whether a bucket's name can be the first label of a host's name that a certificate for *.HOST covers.
bool is_host_label(std::string_view bucket) {
  return !bucket.empty() && bucket.size() <= 63 && has_only(bucket, "-") && bucket.back() != '-';
}

/// An endpoint's URL, without the port that its scheme has anyway.
struct s3_endpoint {
  /// \throws wick::error
  explicit s3_endpoint(std::string_view text) {
    const auto refuse = [&](const char* what) {
      return error("s3: the endpoint \"" + printable(text) + "\" " + what +
                   "; write it as http://localhost:9000");
    };
    // A name and password must not be shown.
    if (text.find('@') != std::string_view::npos)
      throw error(
          "s3: the endpoint has an @; leave out the name of a user, and give keys in the environment");
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
    if (host.empty() || !(is_ipv6 ? has_only(std::string_view(host).substr(1, host.size() - 2), ":.")
                                  : has_only(host, "-._")))
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

  std::string scheme, host;
  std::string port = {};  // ":9000"
  std::string path;       // "/prefix"
};

}  // namespace

std::string s3_address::text() const { return std::string(s3_scheme) + bucket + '/' + key; }

s3_address parse_s3_address(std::string_view text) {
  const auto refuse = [&](const std::string& what) {
    return source_error(text, "s3", what + "; write s3://BUCKET/KEY");
  };
  if (!text.starts_with(s3_scheme)) throw refuse("does not begin with s3://");
  const std::string_view name = text.substr(s3_scheme.size());
  s3_address out;
  out.bucket = name.substr(0, name.find('/'));
  if (out.bucket.size() < name.size()) out.key = name.substr(out.bucket.size() + 1);
  // Buckets older than the present rule have upper case, underscores, and up to 255 characters.
  if (out.bucket.empty()) throw refuse("has no bucket");
  if (out.bucket.size() < 3 || out.bucket.size() > 255)
    throw refuse("the name of its bucket has " + std::to_string(out.bucket.size()) +
                 " characters, and there are none below 3 and above 255");
  constexpr std::string_view upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  if (!has_only(out.bucket, std::string(upper) + ".-_") || !has_only(out.bucket.substr(0, 1), upper) ||
      out.bucket.find("..") != std::string::npos)
    throw refuse("\"" + printable(out.bucket) + "\" is no name of a bucket: letters, digits, and .-_ inside");
  if (out.key.size() > 1024)
    throw refuse("its key has " + std::to_string(out.key.size()) + " bytes, and S3 has none above 1024");
  return out;
}

s3_url url_of(const s3_address& address, const aws_settings& settings, bool virtual_hosted) {
  const std::string& region = settings.region;
  if (region.empty() || !has_only(region, "-"))
    throw error("s3: \"" + printable(region) + "\" is no region; set AWS_REGION, for example to us-east-1");
  const bool is_aws = settings.endpoint.empty();
  const s3_endpoint at(is_aws ? "https://s3." + region + ".amazonaws.com" +
                                    (region.starts_with("cn-") ? ".cn" : "")
                              : settings.endpoint);
  const bool in_path = !virtual_hosted && (!is_aws || !is_host_label(address.bucket));
  s3_url out;
  out.host = (in_path ? "" : lower_case(address.bucket) + '.') + at.host + at.port;
  out.origin = at.scheme + out.host;
  out.path = at.path;
  if (in_path) out.path += '/' + percent_encoded(address.bucket, slashes::encoded);
  if (!in_path || !address.key.empty()) out.path += '/' + percent_encoded(address.key, slashes::kept);
  return out;
}

}  // namespace wick::detail
