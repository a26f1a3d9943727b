// remote(): files and shards on servers, instead of paths. The implementation is in the target wick::curl.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <wick/base/detail/duration.hpp>
#include <wick/io/remote_list.hpp>

namespace wick::inline v0_1 {

/// Options of requests to servers.
struct remote_options {
  /// Requests at a time. Default: the number with the highest throughput, found at run time, up to 256.
  std::optional<std::size_t> requests = {};
  /// Threads that send requests and receive the answers, up to 16. One makes 15 to 20 thousand requests a
  /// second. At most one is used for every eight requests at a time. Default: one for every four processors,
  /// up to four.
  std::optional<std::size_t> threads = {};
  /// A request that fails is sent again for this long, and at least three times; then its sample has an
  /// error. Time while the process is stopped doesn't count.
  std::chrono::nanoseconds give_up_after = std::chrono::seconds(60);
  /// A connection that delivers less than 1 KiB a second for this long counts as failed.
  std::chrono::nanoseconds stalled_after = std::chrono::seconds(20);
  /// Sends a request a second time when it takes 1.5 times as long as 95 % of the latest requests, and uses
  /// the first answer. At most 3 % of all requests, none of over 8 MiB, and none while many are late.
  bool hedge = true;
  /// Sent with each request: "Authorization: Bearer …". Headers go only to the host of the URL: a redirect is
  /// followed only if there are none besides Authorization, and another host doesn't get that one.
  std::vector<std::string> headers = {};
  /// A file of certificates to trust, instead of the system's.
  std::string ca_file = {};

  /// Treats an object of the same size as unchanged, regardless of its ETag and date: for servers and CDNs
  /// whose machines give different ones. A change that keeps the size isn't found then.
  bool compare_sizes_only = false;

  // For buckets. The environment provides the values of empty options.
  //
  // s3://: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION, AWS_ENDPOINT_URL,
  // AWS_PROFILE, and the profile files ~/.aws/credentials and ~/.aws/config. Without keys there, wick uses
  // those of a web identity, credential_process, a container, or an instance, and renews them before they
  // expire.
  //
  // gs://: GCS_KEY and GCS_SECRET (HMAC keys), or a token in GOOGLE_OAUTH_ACCESS_TOKEN or
  // CLOUDSDK_AUTH_ACCESS_TOKEN. Without them, wick uses the token of the virtual machine and renews it before
  // it expires.
  //
  // az://: AZURE_STORAGE_ACCOUNT and AZURE_STORAGE_SAS_TOKEN. The endpoint may be the SAS URL of an account
  // or a container.
  //
  // hf://: HF_ENDPOINT, and the token in HF_TOKEN or in the file that `hf auth login` writes.
  std::string endpoint = {};  ///< "http://localhost:9000"; empty: the service's own
  std::string region = {};    ///< for s3://: "eu-central-1"
  std::string profile = {};   ///< for s3://, in the profile files
  /// Doesn't sign requests: for public buckets. A header "Authorization: …" in `headers` does the same.
  bool anonymous = false;
  /// Whether the bucket is in the host name, as in https://BUCKET.s3.REGION.amazonaws.com, or in the path.
  bool virtual_hosted = false;
};

/// Objects on a server, by URL: `tar(remote("https://host/train-{000..146}.tar"))`, `files(remote({…}))`,
/// `tar(remote("s3://bucket/train-*.tar"))`; likewise gs://bucket/… and az://container/…, and
/// hf://datasets/OWNER/NAME@REVISION/…, which is read at one commit. Braces stand for several names, as in a
/// path. So do wildcards in buckets, which are listed; `s3://bucket/folder/` stands for all names that begin
/// with it.
///
/// Only the ranges that samples need are read, many at a time; no worker and no I/O thread waits for them. A
/// request that fails for a transient reason (a broken connection, a busy server) is sent again for the
/// missing bytes. An object that changes during the life of the loader is an error of its samples. Access
/// keys of buckets that expire or are replaced are read again from the same place. Proxies come from the
/// environment (https_proxy). Sample keys and messages show URLs without user names, passwords, and queries.
///
/// A program that includes this header may pass URLs directly to a source: `tar("https://…")`. Needs the
/// target wick::curl. \throws wick::error for a text that isn't a URL, or a URL of another kind
remote_list remote(const std::string& pattern);
remote_list remote(const std::vector<std::string>& patterns);
remote_list remote(std::initializer_list<std::string> patterns);
/// The same with options, and with its own connections.
remote_list remote(const std::string& pattern, const remote_options& options);
remote_list remote(const std::vector<std::string>& patterns, const remote_options& options);
remote_list remote(std::initializer_list<std::string> patterns, const remote_options& options);

namespace detail {

std::shared_ptr<object_store> open_store(const remote_options& options);
/// The objects that the patterns stand for. \throws wick::error
remote_list named_by(std::shared_ptr<object_store> store, const std::vector<std::string>& patterns);

/// Lets sources open URLs that are given as text.
bool use_remote_for_urls() noexcept;
inline const bool urls_are_remote = use_remote_for_urls();

}  // namespace detail

}  // namespace wick
