/// \file
/// remote(): files and shards on servers, in the place of paths. Its bodies are in the target wick::curl.
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

/// How servers are asked.
struct remote_options {
  /// Requests at a time. Default: as many as give most, found while they run, up to 256.
  std::optional<std::size_t> requests = {};
  /// A request that fails is sent again for so long, and at least three times; then its sample has an error.
  /// Time in which the process was stopped doesn't count.
  std::chrono::nanoseconds give_up_after = std::chrono::seconds(60);
  /// A connection that brings less than 1 KiB a second for so long counts as failed.
  std::chrono::nanoseconds stalled_after = std::chrono::seconds(20);
  /// Sends a request that takes 1.5 times as long as 95 % of the last ones a second time, and takes the
  /// answer that comes first. At most 3 % of all, none of over 8 MiB, and none while many are late.
  bool hedge = true;
  /// Sent with each request: "Authorization: Bearer …". They go to no other host than the URL's: a redirect
  /// is followed where there are none but Authorization, which is left out there.
  std::vector<std::string> headers = {};
  /// A file of certificates to trust, in the place of the system's.
  std::string ca_file = {};

  /// An object that has the same size is the same, whatever its ETag and date: for servers and CDNs whose
  /// machines give different ones. A change that keeps the size is not found then.
  bool compare_sizes_only = false;

  // Of buckets. What is empty is as the environment says it.
  //
  // s3://: also as the profile files of AWS say it. AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY,
  // AWS_SESSION_TOKEN, AWS_REGION, AWS_ENDPOINT_URL, AWS_PROFILE, ~/.aws/credentials, ~/.aws/config. Without
  // keys there, those of a web identity, credential_process, a container, or an instance, which are renewed
  // before they end.
  //
  // gs://: GCS_KEY and GCS_SECRET (HMAC keys), or a token in GOOGLE_OAUTH_ACCESS_TOKEN or
  // CLOUDSDK_AUTH_ACCESS_TOKEN; without them, that of the virtual machine, which is renewed before it ends.
  //
  // az://: AZURE_STORAGE_ACCOUNT and AZURE_STORAGE_SAS_TOKEN. The endpoint may be the SAS URL of an account
  // or a container.
  //
  // hf://: HF_ENDPOINT, and the token HF_TOKEN, or that of a file, where `hf auth login` writes it.
  std::string endpoint = {};  ///< "http://localhost:9000"; empty: the service's own
  std::string region = {};    ///< of s3://: "eu-central-1"
  std::string profile = {};   ///< of s3://, in the profile files
  /// Requests are not signed: for public buckets. So it is with a header "Authorization: …" in `headers`.
  bool anonymous = false;
  /// Whether the bucket stands in the host's name, as in https://BUCKET.s3.REGION.amazonaws.com, or in the
  /// path.
  bool virtual_hosted = false;
};

/// Objects on a server, by URL: `tar(remote("https://host/train-{000..146}.tar"))`, `files(remote({…}))`,
/// `tar(remote("s3://bucket/train-*.tar"))`; gs://bucket/… and az://container/… likewise, and
/// hf://datasets/OWNER/NAME@REVISION/…, which is read as of one commit. Braces stand for
/// several names, as in a path. So do wildcards in buckets, which are listed; `s3://bucket/folder/` is all
/// that begins with it. What is read are the ranges that samples need, many at a time; no worker and no I/O
/// thread waits for them. A request that fails for a reason that passes (a broken connection, a busy server)
/// is sent again, for the bytes that are missing. An object that changes while the loader lives is an error
/// of its samples. Keys of buckets that run out or are replaced are read again from where they were. Proxies
/// are those of the environment (https_proxy). Keys and messages show URLs without names, passwords, and
/// queries.
///
/// A program that includes this header may give the URLs to a source as they are: `tar("https://…")`. Needs
/// the target wick::curl. \throws wick::error for what is no URL, or one of another kind
remote_list remote(const std::string& pattern);
remote_list remote(const std::vector<std::string>& patterns);
remote_list remote(std::initializer_list<std::string> patterns);
/// The same with options, and with connections of its own.
remote_list remote(const std::string& pattern, const remote_options& options);
remote_list remote(const std::vector<std::string>& patterns, const remote_options& options);
remote_list remote(std::initializer_list<std::string> patterns, const remote_options& options);

namespace detail {

std::shared_ptr<object_store> open_store(const remote_options& options);
/// What the patterns stand for. \throws wick::error
remote_list named_by(std::shared_ptr<object_store> store, const std::vector<std::string>& patterns);

/// Lets sources open URLs that are given as text.
bool use_remote_for_urls() noexcept;
inline const bool urls_are_remote = use_remote_for_urls();

}  // namespace detail

}  // namespace wick
