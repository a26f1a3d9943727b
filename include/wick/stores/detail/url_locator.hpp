// Locates URLs of all schemes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <wick/io/detail/object_store.hpp>
#include <wick/stores/detail/azure_locator.hpp>
#include <wick/stores/detail/http_client.hpp>
#include <wick/stores/detail/hub_locator.hpp>
#include <wick/stores/detail/s3_locator.hpp>
#include <wick/stores/remote.hpp>

namespace wick::inline v0_1::detail {

/// Leaves URLs of web servers as they are, and passes all others to the locator of their scheme.
class url_locator : public http_locator {
 public:
  explicit url_locator(const remote_options& options)
      : options_(options),
        s3_(options, s3_service::amazon),
        gs_(options, s3_service::google),
        az_(options),
        hf_(options) {}

  bool ready(const char* url) override;
  http_address locate(const char* url) override;
  bool has_other_settings(const char* url, std::uint64_t keys) override;
  void server_time(std::int64_t here, std::int64_t there) noexcept override {
    s3_.server_time(here, there);
    gs_.server_time(here, there);
  }
  void redirected(const char* url, const char* to) override;
  std::string pinned(http_client& client, const std::string& pattern) override;
  std::vector<remote_name> names(http_client& client, const std::string& pattern) override;

 private:
  /// Null for web servers, and for text that isn't a URL.
  http_locator* of(std::string_view url) noexcept;

  remote_options options_;
  s3_locator s3_, gs_;
  azure_locator az_;
  hub_locator hf_;
};

}  // namespace wick::detail
