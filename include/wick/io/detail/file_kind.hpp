/// \file
/// Names what a file is by its first bytes: compressed, a pointer of Git LFS, a page of a server, an array of
/// NumPy, … Sources ask it when a file isn't what they read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace wick::inline v0_1::detail {

/// What a file is, and what to do about it.
struct file_kind {
  enum class family : unsigned char {
    unknown,
    compressed,   ///< or encrypted: no byte in it is data as it is
    placeholder,  ///< of Git LFS, git-annex, DVC, or an answer like "404: Not Found": the data are elsewhere
    page,         ///< HTML or XML: a server's error page, or text to train on
    other,        ///< another format, whose numbers may follow a header
  };
  /// Bytes that tell all kinds.
  static constexpr std::size_t looked_at = 512;

  family is = family::unknown;
  std::string_view what = {};    ///< "compressed with gzip", "a NumPy array (.npy)"
  std::string_view remedy = {};  ///< "unpack it (gunzip FILE)"
  std::uint64_t header = 0;      ///< of an array: bytes before its numbers; 0: not known

  explicit operator bool() const noexcept { return is != family::unknown; }
  /// "is compressed with gzip; unpack it (gunzip FILE)".
  std::string text() const;
};

enum class certainty : bool {
  likely,  ///< for the message when something failed: some bytes are enough
  sure,    ///< to refuse bytes that may be any: as much as follows the signature is checked, too
};

/// What a file that begins with these bytes is.
file_kind kind_of_file(std::string_view start, certainty how) noexcept;

/// For stages that take any bytes as numbers, of each sample: a check of one byte for nearly all.
/// \throws wick::error for what is compressed, or a placeholder
void refuse_packed(std::string_view data);

/// For the end of a message about bytes of a wrong size: what they are instead, or nothing.
std::string or_another_kind(std::string_view data);

}  // namespace wick::detail
