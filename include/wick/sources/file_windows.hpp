// Windows over series in files: each window is a range of bytes, which read() reads when its turn comes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <wick/ext/file_range.hpp>
#include <wick/sources/detail/row_files.hpp>
#include <wick/sources/files.hpp>
#include <wick/sources/windows.hpp>

namespace wick::inline v0_1 {

/// The layout of rows in a file.
struct file_rows {
  /// Bytes of one row.
  std::uint64_t row_bytes = 0;
  /// Bytes before the first row.
  std::uint64_t header_bytes = 0;
  /// Also reads files that begin like a compressed file, an archive, or a web page: their bytes are the data.
  bool raw = false;
};

namespace detail {

/// A source of file ranges: windows over the rows of files. Made by windows(files(…), …).
class file_windows {
 public:
  /// \throws wick::error
  file_windows(const files& of, file_rows rows, std::int64_t length, std::int64_t stride);
  std::uint64_t size() const noexcept { return order_.size(); }
  file_range at(std::uint64_t i) const noexcept;
  std::string key(std::uint64_t i) const;
  /// A hash of the paths below the files' common folder, and of the number of rows in each file.
  std::uint64_t fingerprint() const;

 private:
  std::shared_ptr<const row_files> files_;
  file_rows rows_;
  std::uint64_t length_;
  window_order order_;
};

}  // namespace detail

/// Windows over series in files, one series a file: `.header_bytes`, then rows of `.row_bytes` each, and
/// nothing else. Sample i is the file range of `length` rows, so the files need not fit into memory:
/// `windows(files("*.f32"), {.row_bytes = 64}, 64) | read() | decode_raw<float>({64, 16})`. For a target
/// of 16 rows, ask for windows of 64 + 16 rows and split the batch: `batch.slice(1, 0, 64)` and
/// `batch.slice(1, 64)` copy nothing. windows() opens the files once to get their sizes; a file that changes
/// later is an error of its windows. \throws wick::error for a length or stride below 1, when a file is
/// missing, is compressed, is in another format, or isn't a whole number of rows, or when no file has a
/// window
inline detail::file_windows windows(const files& of, file_rows rows, std::int64_t length,
                                    std::int64_t stride = 1) {
  return {of, rows, length, stride};
}

}  // namespace wick
