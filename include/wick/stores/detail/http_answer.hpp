// The status and headers of a response to a range request.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace wick::inline v0_1::detail {

/// The head of a response, parsed line by line. RFC 9110.
struct http_answer {
  static constexpr std::uint64_t unknown = ~std::uint64_t{0};
  static constexpr std::size_t most_bytes = std::size_t{256} << 10;  ///< of all lines
  /// The most bytes to drop before a range, from a server that ignores ranges and sends the whole object.
  static constexpr std::uint64_t most_dropped = std::uint64_t{1} << 20;

  int status = 0;
  std::uint64_t first = unknown;   ///< of Content-Range: the first byte,
  std::uint64_t end = unknown;     ///< the byte after the last,
  std::uint64_t size = unknown;    ///< and the object's size
  std::uint64_t length = unknown;  ///< Content-Length
  std::uint64_t version = 0;       ///< a hash of the ETag, else of the date; 0 if the response has neither
  std::string version_text;        ///< "ETag \"abc\"", for messages
  std::string encoding;            ///< "gzip", if the content is encoded; else empty
  double retry_after = 0;          ///< seconds
  std::string date;                ///< the server's time
  std::string location;            ///< of a redirect
  std::string region;              ///< of an S3 bucket
  std::size_t bytes = 0;           ///< of all lines so far

  /// Adds the next line, with its end. False if all lines together are too long.
  bool add(std::string_view line);
  /// The fault of a response to a request for the bytes from `from` up to `to`; empty if there is none. The
  /// read begins at `begin`: before `from` if an earlier response broke off.
  std::string fault(std::uint64_t from, std::uint64_t to, std::uint64_t begin) const;
  /// Whether the same request may succeed soon.
  bool may_pass() const noexcept;
};

/// "bytes 0-99/1234", "bytes */1234". \returns whether it has this form
bool parse_content_range(std::string_view text, http_answer& into) noexcept;

/// A number for an ETag (weak or not, quoted or not) or a date; 0 for an empty one.
std::uint64_t version_of(std::string_view text) noexcept;

/// Used instead of version_of() where only sizes are compared.
std::uint64_t version_of_size(std::uint64_t size) noexcept;

/// Without leading and trailing whitespace.
std::string_view without_blanks(std::string_view text) noexcept;

/// "404 Not Found".
std::string status_text(int status);

}  // namespace wick::detail
