/// \file
/// remote(): files and shards on servers, in the place of paths. Its bodies are in the target wick::curl.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <wick/io/detail/object_store.hpp>

namespace wick {

/// How servers are asked.
struct remote_options {
  /// Requests at a time; 0: as many as give most, found while they run, up to 256.
  std::size_t requests = 0;
  /// A request that fails is sent again for so long, in seconds; then its sample has an error.
  double give_up_after = 60;
  /// A connection that brings less than 1 KiB a second for so long, in seconds, counts as failed.
  double stalled_after = 20;
  /// Sent with each request: "Authorization: Bearer …". They go to no other host than the URL's.
  std::vector<std::string> headers = {};
  /// A file of certificates to trust, in the place of the system's.
  std::string ca_file = {};
};

/// Objects on a server, by URL: `tar(remote("https://host/train-{000..146}.tar"))`, `files(remote({…}))`.
/// Braces stand for several names, as in a path. What is read are the ranges that samples need, many at a
/// time; no worker and no I/O thread waits for them. A request that fails for a reason that passes (a broken
/// connection, a busy server) is sent again, for the bytes that are missing. An object that changes while the
/// loader lives is an error of its samples. Proxies are those of the environment (https_proxy). Keys and
/// messages show URLs without names, passwords, and queries.
///
/// A program that includes this header may give the URLs to a source as they are: `tar("https://…")`. Needs
/// the target wick::curl. \throws wick::error for what is no URL, or one of another kind
detail::remote_list remote(const std::string& pattern);
detail::remote_list remote(const std::vector<std::string>& patterns);
/// The same with options, and with connections of its own.
detail::remote_list remote(const std::string& pattern, const remote_options& options);
detail::remote_list remote(const std::vector<std::string>& patterns, const remote_options& options);

namespace detail {

/// What the patterns stand for. \throws wick::error
remote_list named_by(std::shared_ptr<object_store> store, const std::vector<std::string>& patterns);

/// Lets sources open URLs that are given as text.
bool use_remote_for_urls() noexcept;
inline const bool urls_are_remote = use_remote_for_urls();

}  // namespace detail

}  // namespace wick
