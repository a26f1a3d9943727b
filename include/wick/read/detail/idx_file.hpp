/// \file
/// Reads an idx file (the format of MNIST), plain or gzip-compressed, whole and checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <zlib.h>

#include <wick/read/detail/source_file.hpp>
#include <wick/sample/shape.hpp>

namespace wick::detail {

/// An array [count, …] in memory, elements in the machine's byte order.
struct idx_array {
  std::uint64_t count = 0;
  shape row;
  dtype type = dtype::uint8;
  std::unique_ptr<std::byte[]> data;
};

class idx_file {
 public:
  explicit idx_file(const std::string& path);

  /// Once. \throws wick::error naming the path, what was expected and what was found
  idx_array read();

 private:
  idx_array read_all();

  struct closer {
    void operator()(::gzFile f) const noexcept { ::gzclose(f); }
  };

  /// 0, 0, type, rank, then each extent as 4 bytes. Returns the bytes of data that must follow.
  std::uint64_t read_header(idx_array& out);

  static std::optional<dtype> type_of(unsigned char code) noexcept;

  /// Reads up to `size` bytes, fewer only at the end.
  std::uint64_t fill(void* to, std::uint64_t size);

  const std::string& path_;
  opened_file opened_;
  std::unique_ptr<::gzFile_s, closer> gz_;
  std::uint64_t file_size_ = 0;
  bool packed_ = false;
};

}  // namespace wick::detail
