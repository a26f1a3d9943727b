// "s3://bucket/key", or "gs://bucket/key", and its HTTP URL.
#pragma once

#include <string>
#include <string_view>

#include <wick/stores/detail/aws_credentials.hpp>

namespace wick::inline v0_1::detail {

struct s3_address {
  std::string scheme = "s3";  ///< or "gs"
  std::string bucket = {};
  std::string key = {};  ///< any bytes; empty for the bucket

  /// "s3://bucket/key", "gs://bucket/key"
  std::string text() const;
};

/// The parts of a URL as they are signed and sent: `origin + path + '?' + encoded_query(…)`. The path may
/// have segments of dots, which are part of the key, so curl needs CURLOPT_PATH_AS_IS.
struct s3_url {
  std::string origin = {};  ///< "https://bucket.s3.eu-central-1.amazonaws.com"
  std::string host = {};    ///< the Host header: with the port, unless it is the scheme's default
  std::string path = {};    ///< encoded
};

/// \throws wick::error
s3_address parse_s3_address(std::string_view text);

/// The bucket's name is in the path for a user's own endpoint, and where AWS's certificate doesn't cover it.
/// Otherwise, or if `virtual_hosted`, it is before the host's name.
/// \throws wick::error for an endpoint, region, or bucket that makes no valid URL
s3_url url_of(const s3_address& address, const aws_settings& settings, bool virtual_hosted = false);

}  // namespace wick::detail
