// The headers that authenticate a request to S3. AWS: "Signature Version 4", Amazon S3 API Reference,
// "Authenticating Requests: Using the Authorization Header".
#pragma once

#include <array>
#include <ctime>
#include <string>
#include <string_view>

#include <wick/io/detail/percent_encoding.hpp>
#include <wick/stores/detail/aws_credentials.hpp>

namespace wick::inline v0_1::detail {

/// A request without a body.
struct aws_request {
  std::string_view method = "GET";
  std::string_view host = {};   ///< with the port, unless it is the scheme's default
  std::string_view path = "/";  ///< encoded as it is sent
  name_values query = {};       ///< not encoded; sent as encoded_query()
  name_values headers = {};     ///< signed in addition to the required ones; each name once
};

/// Signs the requests of one thread. Keeps the signing key for the day, so each request takes one hash of its
/// text and one HMAC.
class aws_signer {
 public:
  explicit aws_signer(aws_settings settings);

  /// The headers to send in addition to Host: those of the request and those of the signature. Unsigned
  /// headers, such as Range, may be added. Anonymous settings give only the request's headers; a token adds
  /// Authorization.
  /// \param now  seconds since 1970; S3 accepts a difference of 15 minutes
  name_values sign(const aws_request& request, std::time_t now);

 private:
  std::string signature_of(const aws_request& request, const name_values& signed_headers,
                           std::string_view time, std::string_view names);

  aws_settings settings_;
  std::string day_ = {};  // the day of key_: "20130524"
  std::array<unsigned char, 32> key_ = {};
};

}  // namespace wick::detail
