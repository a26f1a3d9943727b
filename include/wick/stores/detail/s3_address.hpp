/// \file
/// "s3://bucket/key", and the URL that stands for it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <wick/stores/detail/aws_credentials.hpp>

namespace wick::inline v0_1::detail {

struct s3_address {
  std::string bucket = {};
  std::string key = {};  ///< any bytes; empty: the bucket

  /// "s3://bucket/key"
  std::string text() const;
};

/// Where the bucket's name is: in the path, or before the host's name. Automatic: in the path at an endpoint
/// of the user's, and for names that a certificate of AWS does not cover; otherwise before the host's name.
enum class s3_addressing : std::uint8_t { automatic, path, virtual_hosted };

/// The parts of a URL as they are signed and sent: `origin + path + '?' + encoded_query(…)`. The path may
/// have segments of dots, which are part of the key: curl needs CURLOPT_PATH_AS_IS.
struct s3_url {
  std::string origin = {};  ///< "https://bucket.s3.eu-central-1.amazonaws.com"
  std::string host = {};    ///< what the header Host says: with the port, where it is not the scheme's
  std::string path = {};    ///< encoded
};

/// \throws wick::error
s3_address parse_s3_address(std::string_view text);

/// \throws wick::error for an endpoint, region or bucket that makes no URL
s3_url url_of(const s3_address& address, const aws_settings& settings,
              s3_addressing addressing = s3_addressing::automatic);

}  // namespace wick::detail
