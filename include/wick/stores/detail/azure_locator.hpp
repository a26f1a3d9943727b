// URLs of Azure blobs, with shared access signatures, and lists of containers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <wick/io/detail/object_store.hpp>
#include <wick/io/detail/percent_encoding.hpp>
#include <wick/stores/detail/aws_credentials.hpp>
#include <wick/stores/detail/http_client.hpp>
#include <wick/stores/detail/object_list.hpp>
#include <wick/stores/remote.hpp>

namespace wick::inline v0_1::detail {

/// "az://container/blob"
struct azure_address {
  std::string container = {};
  std::string blob = {};  ///< any bytes; empty for the container
};

/// \throws wick::error
azure_address parse_azure_address(std::string_view text);

/// An account's origin and shared access signature.
struct azure_settings {
  std::string origin = {};     ///< "https://account.blob.core.windows.net"
  std::string signature = {};  ///< "sv=…&sig=…"; empty for none

  bool operator==(const azure_settings&) const = default;
};

/// From an endpoint, which may be a SAS URL of an account or a container, else from
/// AZURE_STORAGE_SERVICE_ENDPOINT, AZURE_STORAGE_ACCOUNT or AZURE_STORAGE_ACCOUNT_NAME, and
/// AZURE_STORAGE_SAS_TOKEN, as in Azure's CLI. \param where  if it is `anonymous`, no signature is needed
/// \throws wick::error that never shows the signature
azure_settings find_azure_settings(const std::string& endpoint, const settings_lookup& where = {});

/// The blob's URL with its signature; with a query, the container's.
std::string url_of(const azure_address& address, const azure_settings& settings,
                   const name_values& query = {});

/// A page of "List Blobs". Microsoft: Blob Storage REST API.
/// \param url  names the list in messages: "az://container/prefix"
/// \throws wick::error also for an error response
object_page parse_azure_page(std::string_view xml, std::string_view url);

class azure_locator : public http_locator {
 public:
  explicit azure_locator(const remote_options& options);

  http_address locate(const char* url) override;
  bool has_other_settings(const char* url, std::uint64_t keys) override;
  std::vector<remote_name> names(http_client& client, const std::string& pattern) override;

 private:
  azure_settings settings() const;
  http_address address_of(const azure_address& blob, const name_values& query,
                          const azure_settings& with) const;
  std::vector<remote_name> list(http_client& client, const std::string& pattern) const;

  remote_options options_;
  azure_settings now_;  // used by one thread at a time, once there are keys
  std::uint64_t keys_ = 0;
};

}  // namespace wick::detail
