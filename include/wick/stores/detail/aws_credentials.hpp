// Finds S3's endpoint and keys in the environment and in the profile files that AWS's own programs read.
#pragma once

#include <string>

namespace wick::inline v0_1::detail {

struct aws_settings {
  std::string access_key = {};
  std::string secret_key = {};
  std::string session_token = {};  ///< for temporary keys only
  std::string region = "us-east-1";
  std::string endpoint = {};   ///< "http://localhost:9000"; empty for AWS
  std::string ca_bundle = {};  ///< a file; empty for the system's
  bool anonymous = false;      ///< requests aren't signed
  bool is_token = false;       ///< the access key is sent verbatim, as "Bearer …"

  bool operator==(const aws_settings&) const = default;
};

/// std::getenv
const char* process_variable(const char* name);

/// Where to look for settings.
struct settings_lookup {
  /// Its keys take precedence over the environment's. Empty: AWS_PROFILE, else "default".
  std::string profile = {};
  bool anonymous = false;                                        ///< no keys are needed
  const char* (*variable)(const char* name) = process_variable;  ///< returns null for one that isn't set
};

/// Reads the environment and the files again at each call, since keys may have been replaced. Variables take
/// precedence over a profile, and ~/.aws/credentials over ~/.aws/config.
///
/// AWS: "AWS SDKs and Tools Reference Guide", shared config and credentials files. For keys from a program or
/// a server, see aws_role.hpp. SSO, and roles assumed through another profile, aren't supported. \throws
/// wick::error that never shows a secret
aws_settings find_aws_settings(const settings_lookup& where = {});

}  // namespace wick::detail
