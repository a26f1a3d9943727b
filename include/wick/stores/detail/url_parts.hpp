// The parts of URLs of stores and of their endpoints.
#pragma once

#include <string>
#include <string_view>

namespace wick::inline v0_1::detail {

/// Whether all characters are lower-case letters, digits, or in `more`.
bool has_only(std::string_view text, std::string_view more) noexcept;

/// "s3" of "s3://bucket/key".
std::string_view scheme_of(std::string_view url) noexcept;

/// The address of a service: "http://localhost:9000/prefix".
struct endpoint_url {
  /// \param who  begins messages: "s3". \throws wick::error
  endpoint_url(std::string_view text, std::string_view who);

  std::string scheme, host;  ///< "https://", in lower case
  std::string port = {};     ///< ":9000"; empty for the scheme's default
  std::string path;          ///< "/prefix"; empty for none

  std::string origin() const { return scheme + host + port; }
};

}  // namespace wick::detail
