/// \file
/// Where S3 is and with which keys: from the environment and the profile files that AWS's own programs read.
#pragma once

#include <string>

namespace wick::inline v0_1::detail {

struct aws_settings {
  std::string access_key = {};
  std::string secret_key = {};
  std::string session_token = {};  ///< of temporary keys
  std::string region = "us-east-1";
  std::string endpoint = {};   ///< "http://localhost:9000"; empty: AWS
  std::string ca_bundle = {};  ///< a file; empty: the system's
  bool anonymous = false;      ///< requests are not signed
  bool is_token = false;       ///< the access key is sent as it is, "Bearer …"

  bool operator==(const aws_settings&) const = default;
};

/// std::getenv
const char* process_variable(const char* name);

/// Where to look for settings.
struct settings_lookup {
  /// Its keys count before those of the environment. Empty: AWS_PROFILE, else "default".
  std::string profile = {};
  bool anonymous = false;                                        ///< no keys are needed
  const char* (*variable)(const char* name) = process_variable;  ///< null for one that is not set
};

/// Reads the environment and the files again at each call, for keys that were replaced meanwhile. Variables
/// count before a profile, and ~/.aws/credentials before ~/.aws/config.
///
/// AWS: "AWS SDKs and Tools Reference Guide", shared config and credentials files. For keys that a program or
/// a server must be asked for, see aws_role.hpp; SSO, and roles that another profile takes, are not
/// supported. \throws wick::error that never shows a secret
aws_settings find_aws_settings(const settings_lookup& where = {});

}  // namespace wick::detail
