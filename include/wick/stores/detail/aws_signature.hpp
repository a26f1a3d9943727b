/// \file
/// The headers that authenticate a request to S3. AWS: "Signature Version 4", Amazon S3 API Reference,
/// "Authenticating Requests: Using the Authorization Header".
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
  std::string_view host = {};   ///< with the port, where it is not the scheme's
  std::string_view path = "/";  ///< encoded as it is sent
  name_values query = {};       ///< not encoded; sent as encoded_query()
  name_values headers = {};     ///< signed beside those that must be; no name twice
};

/// Signs the requests of one thread. Keeps the key that is derived for the day, so that a request takes one
/// hash of its text and one HMAC.
class aws_signer {
 public:
  explicit aws_signer(aws_settings settings);

  /// The headers to send beside Host: those of the request, and those of the signature. Others may be sent
  /// beside them, such as Range. For anonymous settings only those of the request,
  /// for a token Authorization beside them.
  /// \param now  seconds since 1970; S3 accepts a difference of 15 minutes
  name_values sign(const aws_request& request, std::time_t now);

 private:
  std::string signature_of(const aws_request& request, const name_values& signed_headers,
                           std::string_view time, std::string_view names);

  aws_settings settings_;
  std::string day_ = {};  // that key_ is for: "20130524"
  std::array<unsigned char, 32> key_ = {};
};

}  // namespace wick::detail
