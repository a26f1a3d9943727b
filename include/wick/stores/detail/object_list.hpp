/// \file
/// The objects that a pattern stands for, from the pages of a server's list.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <wick/io/detail/object_store.hpp>

namespace wick::inline v0_1::detail {

struct listed_object {
  std::string key = {};
  std::uint64_t size = 0;  ///< bytes
  std::string etag = {};   ///< with its quotes or without; empty: the server gives none
};

struct object_page {
  std::vector<listed_object> objects = {};
  std::string next = {};  ///< names the page that follows; empty: this is the last one
};

/// Gathers what a pattern stands for, by the rules of glob_files() for paths, in its order:
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
  /// \param key         the pattern of keys: "train-*.tar"; one that ends with / stands for all that begins
  ///                    with it
  /// \param sizes_only  an object's version is its size
  /// \throws wick::error
  object_list(std::string pattern, std::string base, std::string key, bool sizes_only);

  /// What the keys of all pages should begin with.
  const std::string& prefix() const noexcept { return prefix_; }
  /// Adds the page that was asked for by `asked`. \returns page.next. \throws wick::error for a list without
  /// an end
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
