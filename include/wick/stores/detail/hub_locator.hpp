// URLs of the files of data sets on the Hugging Face Hub, at a fixed revision.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <wick/io/detail/object_store.hpp>
#include <wick/stores/detail/aws_credentials.hpp>
#include <wick/stores/detail/http_client.hpp>
#include <wick/stores/detail/object_list.hpp>
#include <wick/stores/remote.hpp>

namespace wick::inline v0_1::detail {

/// "hf://datasets/OWNER/NAME@REVISION/PATH"
struct hub_address {
  std::string data_set = {};  ///< "OWNER/NAME"
  std::string revision = {};  ///< a commit, branch, or tag, "refs/convert/parquet"; default "main"
  std::string path = {};      ///< below the data set's root

  /// Whether the revision is a commit, which never changes.
  bool pinned() const noexcept;
  std::string text() const;
};

/// \throws wick::error
hub_address parse_hub_address(std::string_view text);

/// The Hub's description of a revision of a data set: /api/datasets/OWNER/NAME/revision/REVISION.
struct hub_revision {
  std::string commit = {};
  object_page files = {};  ///< if they were requested; without ETags
};

/// \throws wick::error, without a URL
hub_revision parse_hub_revision(std::string_view json);

/// The Hub's origin and token: HF_ENDPOINT, and HF_TOKEN, else a file: HF_TOKEN_PATH, $HF_HOME/token, or
/// ~/.cache/huggingface/token, where `hf auth login` writes it.
struct hub_settings {
  std::string origin = {};  ///< "https://huggingface.co"
  std::string token = {};   ///< empty for none, as for public data sets
};

/// \throws wick::error that never shows the token
hub_settings find_hub_settings(const std::string& endpoint, const settings_lookup& where = {});

/// Asks the Hub once for each file, which redirects to its content servers, and then asks those until they
/// refuse the redirect's signature.
class hub_locator : public http_locator {
 public:
  explicit hub_locator(const remote_options& options);

  http_address locate(const char* url) override;
  bool has_other_settings(const char* url, std::uint64_t keys) override;
  void redirected(const char* url, const char* to) override;
  std::string pinned(http_client& client, const std::string& pattern) override;
  std::vector<remote_name> names(http_client& client, const std::string& pattern) override;

 private:
  struct place {
    std::string url;
    std::uint64_t keys = 0;
  };
  struct commit {
    std::string of;
    std::time_t since = 0;
  };

  hub_settings settings() const;
  std::vector<std::string> headers(const hub_settings& with) const;
  hub_revision ask(http_client& client, const hub_address& of, const char* query) const;
  hub_address pin(http_client& client, hub_address of);

  remote_options options_;
  std::mutex mutex_;
  std::map<std::string, commit> commits_;  // by "OWNER/NAME@REVISION", kept for a minute; guarded
  // Used by one thread at a time:
  hub_settings now_;
  std::uint64_t keys_ = 0, last_ = 0;  // those of now_; the last number assigned
  std::unordered_map<std::string, place> places_;
};

}  // namespace wick::detail
