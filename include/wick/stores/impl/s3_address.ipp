// Implements stores/detail/s3_address.hpp. Included in exactly one file of a program.
#pragma once

#include <cstddef>

#include <wick/io/detail/percent_encoding.hpp>
#include <wick/io/detail/source_file.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/stores/detail/s3_address.hpp>
#include <wick/stores/detail/url_parts.hpp>

namespace wick::inline v0_1::detail {

namespace {

/// Whether a bucket's name can be the first label of a host name that a certificate for *.HOST covers.
bool is_host_label(std::string_view bucket) {
  return !bucket.empty() && bucket.size() <= 63 && has_only(bucket, "-") && bucket.back() != '-';
}

}  // namespace

std::string s3_address::text() const { return scheme + "://" + bucket + '/' + key; }

s3_address parse_s3_address(std::string_view text) {
  s3_address out;
  if (text.starts_with("gs://")) out.scheme = "gs";
  const auto refuse = [&](const std::string& what) {
    return source_error(text, out.scheme, what + "; write " + out.scheme + "://BUCKET/KEY");
  };
  if (scheme_of(text) != out.scheme) throw refuse("does not begin with s3://");
  const std::string_view name = text.substr(out.scheme.size() + 3);
  out.bucket = name.substr(0, name.find('/'));
  if (out.bucket.size() < name.size()) out.key = name.substr(out.bucket.size() + 1);
  // Buckets older than the present rule may have upper case, underscores, and up to 255 characters.
  if (out.bucket.empty()) throw refuse("has no bucket");
  if (out.bucket.size() < 3 || out.bucket.size() > 255)
    throw refuse("the name of its bucket has " + std::to_string(out.bucket.size()) +
                 " characters, and there are none below 3 and above 255");
  constexpr std::string_view upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  if (!has_only(out.bucket, std::string(upper) + ".-_") || !has_only(out.bucket.substr(0, 1), upper) ||
      out.bucket.find("..") != std::string::npos)
    throw refuse("\"" + printable(out.bucket) + "\" isn't a bucket name: letters, digits, and .-_ inside");
  if (out.key.size() > 1024)
    throw refuse("its key has " + std::to_string(out.key.size()) + " bytes, and there are none above 1024");
  return out;
}

s3_url url_of(const s3_address& address, const aws_settings& settings, bool virtual_hosted) {
  const std::string& region = settings.region;
  if (region.empty() || !has_only(region, "-"))
    throw error("s3: \"" + printable(region) + "\" isn't a region; set AWS_REGION, for example to us-east-1");
  const bool is_aws = settings.endpoint.empty();
  const endpoint_url at(
      is_aws ? "https://s3." + region + ".amazonaws.com" + (region.starts_with("cn-") ? ".cn" : "")
             : settings.endpoint,
      address.scheme);
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
