// Reads an idx file (the format of MNIST), plain or gzip-compressed, as a whole, and checks it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <unistd.h>
#include <vector>

#include <wick/io/detail/endian.hpp>
#include <wick/io/detail/file_kind.hpp>
#include <wick/io/detail/gzip_file.hpp>
#include <wick/io/detail/source_file.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/pipeline/shape.hpp>

namespace wick::inline v0_1::detail {

/// An array [count, …] in memory, with elements in the machine's byte order.
struct idx_array {
  std::uint64_t count = 0;
  shape row;
  dtype type = dtype::uint8;
  std::unique_ptr<std::byte[]> data;
};

class idx_file {
 public:
  explicit idx_file(const std::string& path)
      : path_(path), opened_(open_regular(path, "idx")), in_(opened_, path_, "idx") {
    file_size_ = opened_.stamp.size;
    char start[2] = {};
    packed_ = ::pread(opened_.file.get(), start, 2, 0) == 2 && gzip_file::is_packed({start, 2});
  }

  /// Call it once. \throws wick::error with the path and the expected and found values
  idx_array read() {
    try {
      idx_array out = read_all();
      require_unchanged(opened_, path_, "idx");
      return out;
    } catch (const error&) {
      require_unchanged(opened_, path_, "idx");  // if it has changed, that is the reason
      throw;
    }
  }

 private:
  idx_array read_all() {
    idx_array out;
    const std::uint64_t bytes = read_header(out);
    out.data = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes));
    const std::uint64_t got = in_.fill(out.data.get(), static_cast<std::size_t>(bytes));
    if (got < bytes) {
      throw source_error(path_, "idx",
                         "cut off: its header announces " + std::to_string(bytes) +
                             " bytes of data, and there are " + std::to_string(got) +
                             "; copy or download it again");
    }
    std::byte more;
    if (in_.fill(&more, 1) != 0) {
      throw source_error(path_, "idx",
                         "is longer than the " + std::to_string(bytes) +
                             " bytes of data that its header announces; copy or download it again");
    }
    const std::size_t element = size_of(out.type);
    big_endian_to_native(out.data.get(), static_cast<std::size_t>(bytes) / element, element);
    return out;
  }

  /// 0, 0, type, rank, then each extent as 4 bytes. Returns the number of data bytes that must follow.
  std::uint64_t read_header(idx_array& out) {
    unsigned char magic[4] = {};
    const std::uint64_t got = in_.fill(magic, 4);
    const std::optional<dtype> type = type_of(magic[2]);
    if (got < 4 || magic[0] != 0 || magic[1] != 0 || !type || magic[3] == 0) {
      char start[file_kind::looked_at] = {};
      const ::ssize_t n = ::pread(opened_.file.get(), start, sizeof start, 0);
      const file_kind other =
          kind_of_file({start, static_cast<std::size_t>(std::max<::ssize_t>(n, 0))}, certainty::likely);
      if (other && !packed_) throw source_error(path_, "idx", other.text());
      static constexpr char digits[] = "0123456789abcdef";
      std::string found;
      for (std::uint64_t i = 0; i < got; ++i) found += {' ', digits[magic[i] >> 4], digits[magic[i] & 15]};
      throw source_error(path_, "idx",
                         "is not an idx file: it starts with" + (got == 0 ? " nothing" : found) +
                             ", and 00 00, a type (08 to 0e) and a rank were expected, such as 00 00 08 03");
    }
    if (magic[3] > shape::max_rank + 1) {
      throw source_error(path_, "idx",
                         "has " + std::to_string(magic[3]) + " dimensions, and at most 7 can be read");
    }
    out.type = *type;
    // The most data that the file can hold: deflate compresses by at most 1032 to 1. More is never allocated.
    const std::uint64_t header = 4 + 4 * std::uint64_t{magic[3]};
    const std::uint64_t most = packed_ ? file_size_ * 1032 : file_size_ - std::min(file_size_, header);
    std::uint64_t bytes = size_of(out.type);
    bool too_many = false, none = false;
    for (int d = 0; d < magic[3]; ++d) {
      unsigned char extent[4];
      if (in_.fill(extent, 4) < 4)
        throw source_error(path_, "idx", "cut off within its header; copy or download it again");
      const std::uint64_t n = load_big_endian(extent);
      if (d == 0)
        out.count = n;
      else
        out.row.push_back(static_cast<std::int64_t>(n));
      none |= n == 0;
      too_many |= n != 0 && bytes > std::numeric_limits<std::uint64_t>::max() / n;
      if (!too_many) bytes *= n;
    }
    if (none) {
      throw source_error(
          path_, "idx",
          "is an array of no elements: " + std::to_string(out.count) + " × " + to_string(out.row));
    }
    if (too_many || bytes > most) {
      throw source_error(path_, "idx",
                         "cut off: its header announces " + std::to_string(out.count) + " × " +
                             to_string(out.row) + " " + std::string(to_string(out.type)) +
                             ", which a file of " + std::to_string(file_size_) +
                             " bytes cannot hold; copy or download it again");
    }
    return bytes;
  }

  static std::optional<dtype> type_of(unsigned char code) noexcept {
    switch (code) {
      case 0x08:
        return dtype::uint8;
      case 0x09:
        return dtype::int8;
      case 0x0B:
        return dtype::int16;
      case 0x0C:
        return dtype::int32;
      case 0x0D:
        return dtype::float32;
      case 0x0E:
        return dtype::float64;
      default:
        return std::nullopt;
    }
  }

  const std::string& path_;
  opened_file opened_;
  gzip_file in_;
  std::uint64_t file_size_ = 0;
  bool packed_ = false;
};

}  // namespace wick::detail
