/// \file
/// Windows over series that lie in files: each is a range of bytes, which read() gets when its turn comes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <wick/ext/file_range.hpp>
#include <wick/sources/detail/row_files.hpp>
#include <wick/sources/files.hpp>
#include <wick/sources/windows.hpp>

namespace wick::inline v0_1 {

/// How rows lie in a file.
struct file_rows {
  /// Of one row.
  std::uint64_t row_bytes = 0;
  /// Before the first row.
  std::uint64_t header_bytes = 0;
  /// Reads files that begin like a compressed file, an archive, or a web page, too: their bytes are the data.
  bool raw = false;
};

namespace detail {

/// Source of file ranges: windows over the rows of files. Made by windows(files(…), …).
class file_windows {
 public:
  /// \throws wick::error
  file_windows(const files& of, file_rows rows, std::int64_t length, std::int64_t stride);
  std::uint64_t size() const noexcept { return order_.size(); }
  file_range at(std::uint64_t i) const noexcept;
  std::string key(std::uint64_t i) const;
  /// Of the paths below the folder that all share, and of how many rows each file has.
  std::uint64_t fingerprint() const;

 private:
  std::shared_ptr<const row_files> files_;
  file_rows rows_;
  std::uint64_t length_;
  window_order order_;
};

}  // namespace detail

/// Windows over series in files, one a file, that are rows of `.row_bytes` each behind `.header_bytes`, and
/// nothing else: sample i is where `length` rows lie, so that the files need not fit into memory.
/// `windows(files("*.f32"), {.row_bytes = 64}, 64) | read() | decode_raw<float>({64, 16})`. For a target ask
/// for as many rows more, and take the batch apart: `batch.slice(1, 0, 64)` and `batch.slice(1, 64)` copy
/// nothing. The files are opened here, once, to see how long they are; one that is changed later is an error
/// of its windows. \throws wick::error for a length or stride below 1, when a file is missing, is
/// compressed or in another format, or has no whole rows, or when none has a window
inline detail::file_windows windows(const files& of, file_rows rows, std::int64_t length,
                                    std::int64_t stride = 1) {
  return {of, rows, length, stride};
}

}  // namespace wick
