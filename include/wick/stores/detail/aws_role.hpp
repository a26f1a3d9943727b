// Temporary keys of stores: from the roles of instances, containers, and web identities, and from programs
// that print keys.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <wick/base/detail/owned.hpp>
#include <wick/stores/detail/aws_credentials.hpp>

namespace wick::inline v0_1::detail {

/// Where temporary keys come from.
struct aws_role {
  enum class kind {
    none,             ///< the environment or a file has keys
    web_identity,     ///< STS, for a token in a file, as in EKS
    process,          ///< a program, credential_process
    container,        ///< the agent of ECS, or of EKS's pod identities
    instance,         ///< the instance metadata service of EC2, version 2
    google_instance,  ///< the metadata server of Google's virtual machines
  };
  kind of = kind::none;
  std::string url = {};         ///< of the service, without a path for web_identity and instance
  std::string command = {};     ///< of process
  std::string token = {};       ///< for a container's Authorization header
  std::string token_file = {};  ///< of web_identity and container
  std::string arn = {}, session = {};
  std::string region = {}, ca_bundle = {};
};

/// In the order of AWS's own programs: keys in the environment, a web identity, keys in ~/.aws/credentials,
/// credential_process, keys in ~/.aws/config, a container, the instance. AWS: "AWS SDKs and Tools Reference
/// Guide", standardized credential providers. \throws wick::error
aws_role find_aws_role(const settings_lookup& where = {});

/// A role's keys and their expiration time.
struct aws_role_keys {
  std::string access_key = {}, secret_key = {}, session_token = {};
  std::int64_t ends = 0;  ///< seconds since 1970; 0: never
};

/// The response of a container's agent, an instance, or a program. \throws wick::error, without a secret
aws_role_keys parse_role_json(std::string_view json);
/// The response of STS. \throws wick::error
aws_role_keys parse_role_xml(std::string_view xml);
/// "2026-11-29T02:13:00Z"; 0 if it isn't a time.
std::int64_t parse_iso_time(const std::string& text) noexcept;

/// Fetches the keys of a role on its own thread, and again before they expire. Any thread may use it.
class aws_role_client {
 public:
  explicit aws_role_client(aws_role role);
  /// Interrupts a fetch that is under way.
  ~aws_role_client();

  /// Whether get() can return without waiting. Starts a fetch when one is due.
  bool ready();
  /// Waits for valid keys. \throws wick::error when there are none
  aws_role_keys get();
  /// Reports that a server refused these keys. Returns whether others may come; ready() then waits for them.
  bool refused(const std::string& access_key);
  /// Whether this role was chosen only because the machine might be an instance with one.
  bool is_last_resort() const noexcept;

 private:
  struct state;
  owned<state> state_;
};

}  // namespace wick::detail
