// Identifies a file by its first bytes: compressed, a Git LFS pointer, a server's error page, a NumPy array,
// … Sources use it when a file isn't in their format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace wick::inline v0_1::detail {

/// The kind of a file, and what to do about it.
struct file_kind {
  enum class family : unsigned char {
    unknown,
    compressed,   ///< or encrypted: none of its bytes are usable data
    placeholder,  ///< from Git LFS, git-annex, DVC, or "404: Not Found": the data are elsewhere
    page,         ///< HTML or XML: a server's error page, or text to train on
    other,        ///< another format, possibly with numbers after a header
  };
  /// Enough bytes to identify every kind.
  static constexpr std::size_t looked_at = 512;

  family is = family::unknown;
  std::string_view what = {};    ///< "compressed with gzip", "a NumPy array (.npy)"
  std::string_view remedy = {};  ///< "unpack it (gunzip FILE)"
  std::uint64_t header = 0;      ///< for an array: the bytes before its numbers; 0 if unknown

  explicit operator bool() const noexcept { return is != family::unknown; }
  /// "is compressed with gzip; unpack it (gunzip FILE)".
  std::string text() const;
};

enum class certainty : bool {
  likely,  ///< for the message after a failure: a signature is enough
  sure,    ///< to refuse arbitrary bytes: what follows the signature is checked, too
};

/// The kind of a file that begins with these bytes.
file_kind kind_of_file(std::string_view start, certainty how) noexcept;

/// For stages that take any bytes as numbers. Called for each sample, and checks one byte of nearly all.
/// \throws wick::error for compressed data or a placeholder
void refuse_packed(std::string_view data);

/// The end of a message about bytes of a wrong size: their actual kind, or nothing.
std::string or_another_kind(std::string_view data);

}  // namespace wick::detail
