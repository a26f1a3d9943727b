// Signed URLs of objects in S3 and Google Cloud Storage, and lists of them.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include <wick/base/detail/owned.hpp>
#include <wick/io/detail/object_store.hpp>
#include <wick/io/detail/percent_encoding.hpp>
#include <wick/stores/detail/aws_credentials.hpp>
#include <wick/stores/detail/aws_role.hpp>
#include <wick/stores/detail/aws_signature.hpp>
#include <wick/stores/detail/http_client.hpp>
#include <wick/stores/detail/object_list.hpp>
#include <wick/stores/detail/s3_address.hpp>
#include <wick/stores/remote.hpp>

namespace wick::inline v0_1::detail {

/// The service of an s3_locator.
enum class s3_service : unsigned char { amazon, google };

/// Locates objects in S3, or in Google Cloud Storage, which has the same API, with the keys that are valid
/// now.
class s3_locator : public http_locator {
 public:
  s3_locator(const remote_options& options, s3_service of);

  bool ready(const char* url) override;
  http_address locate(const char* url) override;
  bool has_other_settings(const char* url, std::uint64_t keys) override;
  void server_time(std::int64_t here, std::int64_t there) noexcept override {
    if (there >= 0) clock_offset_.store(there - here, std::memory_order_relaxed);
  }
  std::vector<remote_name> names(http_client& client, const std::string& pattern) override;

 private:
  /// Null if the environment or files have the keys. Determined once. \throws wick::error
  aws_role_client* role() const;
  /// \throws wick::error that says where keys can be set
  aws_role_keys keys_of(aws_role_client& role) const;
  /// May wait for keys of a role.
  aws_settings settings() const;
  http_address address_of(const s3_address& object, const name_values& query, const aws_settings& with,
                          aws_signer& signer) const;
  std::vector<remote_name> list(http_client& client, const std::string& pattern) const;
  object_page page_of(http_client& client, const std::string& pattern, const s3_address& bucket,
                      const name_values& query) const;

  settings_lookup where() const { return {.profile = options_.profile, .anonymous = options_.anonymous}; }

  remote_options options_;
  s3_service of_;
  std::atomic<std::int64_t> clock_offset_{0};  // how many seconds the server's clock is ahead
  aws_settings now_;                           // valid once there is a signer
  owned<aws_signer> signer_;                   // used by one thread at a time
  std::uint64_t keys_ = 0;
  mutable std::mutex role_mutex_;
  mutable bool knows_role_ = false;
  mutable owned<aws_role_client> role_;
};

}  // namespace wick::detail
