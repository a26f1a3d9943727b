// The objects that match a pattern, from the pages of a server's list.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <wick/io/detail/object_store.hpp>

namespace wick::inline v0_1::detail {

struct listed_object {
  std::string key = {};
  std::uint64_t size = 0;  ///< bytes
  std::string etag = {};   ///< quoted or not; empty if the server gives none
};

struct object_page {
  std::vector<listed_object> objects = {};
  std::string next = {};  ///< names the next page; empty on the last
};

/// Gathers the objects that match a pattern, by the rules and in the order of glob_files() for paths:
///
///     object_list found(pattern, "s3://bucket/", key, false);
///     std::string next;
///     do next = found.add(page(found.prefix(), next), next);
///     while (!next.empty());
///     return std::move(found).names();
class object_list {
 public:
  /// \param pattern     for messages: "s3://bucket/train-*.tar"
  /// \param base        before each key: "s3://bucket/"
  /// \param key         the pattern of keys: "train-*.tar"; one that ends with / matches all keys that begin
  /// with it
  /// \param sizes_only  an object's version is its size
  /// \throws wick::error
  object_list(std::string pattern, std::string base, std::string key, bool sizes_only);

  /// The prefix of the keys to list.
  const std::string& prefix() const noexcept { return prefix_; }
  /// Adds the page that was requested with `asked`. \returns page.next. \throws wick::error for an endless
  /// list
  std::string add(object_page page, const std::string& asked);
  /// \throws wick::error when there are none
  std::vector<remote_name> names() &&;

 private:
  std::string pattern_, base_, key_, prefix_;
  bool sizes_only_, all_;
  std::vector<remote_name> by_pattern_, by_name_;
  std::uint64_t listed_ = 0;
  unsigned empty_ = 0;
};

}  // namespace wick::detail
