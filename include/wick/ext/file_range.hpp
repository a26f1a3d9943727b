/// \file
/// Where the encoded bytes of a sample lie on disk: what sources of files hand to read().
#pragma once

#include <cstdint>

#include <wick/pipeline/sample.hpp>

namespace wick::inline v0_1 {

struct file_stamp;
/// An object on a server, as the sources of stores keep it for read().
struct remote_object;

/// Bytes [offset, offset + length) of a file. Points into its source, which outlives it.
/// With `file` >= 0 that descriptor is open for as long as the source lives (read it with pread; `path` names
/// it in messages); else `path` is to be opened.
struct file_range {
  static constexpr std::uint64_t whole = ~std::uint64_t{0};

  const char* path = nullptr;    ///< of the file, ended by NUL
  int file = -1;                 ///< a descriptor of it, or -1
  std::uint64_t offset = 0;      ///< of the first byte
  std::uint64_t length = whole;  ///< bytes; `whole` means up to the end of the file
  /// The state of the file when the source indexed it: read() refuses another file, or one that was changed
  /// since. With null nothing is compared, and only I/O threads read a descriptor, since that may block. Of
  /// an object on a server: its size and version.
  const file_stamp* indexed = nullptr;
  /// The object of a server that it is; `path` is its URL then.
  remote_object* remote = nullptr;
};

namespace detail {

template <>
struct once_read<file_range> {
  using type = bytes;
};

}  // namespace detail

}  // namespace wick
