// S3's XML responses: pages of a list of objects, and errors. AWS: Amazon S3 API Reference, ListObjectsV2
// and "Error responses".
#pragma once

#include <string>
#include <string_view>

#include <wick/io/detail/percent_encoding.hpp>
#include <wick/stores/detail/object_list.hpp>

namespace wick::inline v0_1::detail {

/// The query for a page of the objects whose keys begin with `prefix`; its path is the bucket's.
/// \param continuation_token  from the previous page; empty for the first page
name_values s3_page_query(const std::string& prefix, const std::string& continuation_token = {});

/// \param url  names the list in messages: "s3://bucket/prefix"
/// \throws wick::error also for an error response
object_page parse_s3_page(std::string_view xml, std::string_view url);

/// A response that says why a request failed. All members are printable, and have at most 400 bytes.
struct s3_error {
  std::string code = {};  ///< "NoSuchKey"; empty if the response isn't an error in XML
  std::string message = {};
  std::string region = {};  ///< the bucket's, if the request went to another one

  /// "NoSuchKey: The specified key does not exist."
  std::string text() const;
};

s3_error parse_s3_error(std::string_view xml);

}  // namespace wick::detail
