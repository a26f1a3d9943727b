/// \file
/// "s3://bucket/key", or "gs://bucket/key", and the URL that stands for it.
#pragma once

#include <string>
#include <string_view>

#include <wick/stores/detail/aws_credentials.hpp>

namespace wick::inline v0_1::detail {

struct s3_address {
  std::string scheme = "s3";  ///< or "gs"
  std::string bucket = {};
  std::string key = {};  ///< any bytes; empty: the bucket

  /// "s3://bucket/key", "gs://bucket/key"
  std::string text() const;
};

/// The parts of a URL as they are signed and sent: `origin + path + '?' + encoded_query(…)`. The path may
/// have segments of dots, which are part of the key: curl needs CURLOPT_PATH_AS_IS.
struct s3_url {
  std::string origin = {};  ///< "https://bucket.s3.eu-central-1.amazonaws.com"
  std::string host = {};    ///< what the header Host says: with the port, where it is not the scheme's
  std::string path = {};    ///< encoded
};

/// \throws wick::error
s3_address parse_s3_address(std::string_view text);

/// The bucket's name is in the path at an endpoint of the user's, and where a certificate of AWS does not
/// cover it; otherwise, or if `virtual_hosted`, it is before the host's name.
/// \throws wick::error for an endpoint, region or bucket that makes no URL
s3_url url_of(const s3_address& address, const aws_settings& settings, bool virtual_hosted = false);

}  // namespace wick::detail
