/// \file
/// What S3 answers in XML: pages of a list of objects, and errors. AWS: Amazon S3 API Reference,
/// ListObjectsV2 and "Error responses".
#pragma once

#include <string>
#include <string_view>

#include <wick/io/detail/percent_encoding.hpp>
#include <wick/stores/detail/object_list.hpp>

namespace wick::inline v0_1::detail {

/// The query of a page of the objects whose keys begin with `prefix`; its path is that of the bucket.
/// \param continuation_token  of the page before; empty: the first page
name_values s3_page_query(const std::string& prefix, const std::string& continuation_token = {});

/// \param url  names the list in messages: "s3://bucket/prefix"
/// \throws wick::error also for an answer that is an error
object_page parse_s3_page(std::string_view xml, std::string_view url);

/// An answer that says why a request failed. All are printable, and have at most 400 bytes.
struct s3_error {
  std::string code = {};  ///< "NoSuchKey"; empty: the answer is no error in XML
  std::string message = {};
  std::string region = {};  ///< where the bucket is, when the request went to another region

  /// "NoSuchKey: The specified key does not exist."
  std::string text() const;
};

s3_error parse_s3_error(std::string_view xml);

}  // namespace wick::detail
