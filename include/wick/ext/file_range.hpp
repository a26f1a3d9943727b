// The location of a sample's encoded bytes on disk, which sources of files pass to read().
#pragma once

#include <cstdint>

#include <wick/pipeline/sample.hpp>

namespace wick::inline v0_1::ext {

struct file_stamp;
/// An object on a server, which the source of a store keeps for read().
struct remote_object;

/// Bytes [offset, offset + length) of a file. Points into its source, which outlives it.
/// If `file` >= 0, that descriptor is open as long as the source lives (read it with pread; `path` names it
/// in messages). Otherwise open `path`.
struct file_range {
  static constexpr std::uint64_t whole = ~std::uint64_t{0};

  const char* path = nullptr;    ///< of the file, NUL-terminated
  int file = -1;                 ///< its descriptor, or -1
  std::uint64_t offset = 0;      ///< of the first byte
  std::uint64_t length = whole;  ///< bytes; `whole` means up to the end of the file
  /// The state of the file when the source indexed it: read() rejects another file, or one that has changed
  /// since. If null, nothing is compared, and only I/O threads read a descriptor, since that may block. For
  /// an object on a server: its size and version.
  const file_stamp* indexed = nullptr;
  /// The object, if the bytes are on a server; `path` is then its URL.
  remote_object* remote = nullptr;
};

}  // namespace wick::ext

namespace wick::inline v0_1::detail {

using namespace ext;

template <>
struct once_read<file_range> {
  using type = bytes;
};

}  // namespace wick::detail
