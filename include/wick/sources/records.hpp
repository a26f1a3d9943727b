/// \file
/// Records of one size that follow each other in files: samples of games, CIFAR's pictures, arrays of
/// structs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <wick/ext/file_range.hpp>
#include <wick/ext/stage.hpp>
#include <wick/io/detail/large_pages.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/pipeline/sample.hpp>
#include <wick/sources/detail/row_files.hpp>
#include <wick/sources/files.hpp>
#include <wick/sources/memory.hpp>

namespace wick::inline v0_1 {

/// Options of records().
struct records_options {
  std::uint64_t header = 0;  ///< bytes before the first record of each file
  /// Bytes from one record to the next. Default: they lie side by side.
  std::optional<std::uint64_t> stride = {};
  /// Reads files that begin like a compressed file, an archive, or a web page, too: their bytes are the data.
  bool raw = false;
};

namespace detail {

/// Source of file ranges: the records of files, one file after the other.
class fixed_records {
 public:
  /// \param bytes  of a record
  fixed_records(const files& of, std::uint64_t bytes, const records_options& options);
  std::uint64_t size() const noexcept { return begins_->back(); }
  file_range at(std::uint64_t i) const noexcept;
  std::string key(std::uint64_t i) const;
  /// Of the paths below the folder that all share, and of how many records each file has.
  std::uint64_t fingerprint() const noexcept;
  /// All of them, side by side. Blocks. \throws wick::error when a file can't be read, or has changed
  void read_into(std::byte* to) const;

 private:
  struct place {
    std::size_t file;
    std::uint64_t record;
  };
  place find(std::uint64_t i) const noexcept;

  std::shared_ptr<const row_files> files_;
  std::uint64_t bytes_;
  records_options options_;
  std::shared_ptr<const std::vector<std::uint64_t>> begins_;  // the first record of each file, and the end
};

/// \throws wick::error for bytes of another size, or that are compressed
void check_struct(const bytes& data, std::size_t wanted);

template <class T>
class decode_struct_stage {
 public:
  static constexpr stage_traits traits{.name = "decode_struct", .kind = stage_kind::data};
  T operator()(const bytes& data, context&) const {
    check_struct(data, sizeof(T));
    T out;
    std::memcpy(&out, data.data(), sizeof(T));
    return out;
  }
};

}  // namespace detail

/// Each record of `bytes` bytes in these files is a sample: `at(i)` is its file range, for read(). The files
/// are opened here, once, to see how long they are; one that is changed later is an error of its samples.
/// \throws wick::error when a file is missing, is compressed or in another format (.npy, a Git LFS pointer,
/// …), or the bytes after its header aren't a whole number of records
inline detail::fixed_records records(const files& of, std::uint64_t bytes,
                                     const records_options& options = {}) {
  return {of, bytes, options};
}

/// The same of structs: `records<move>(files("games-*.bin"), {.header = 16}) | shuffle() | read() |
/// decode_struct<move>() | batch(256)`. A batch has a tensor a field.
template <class T>
detail::fixed_records records(const files& of, const records_options& options = {}) {
  static_assert(
      std::is_trivially_copyable_v<T>,
      "wick: records<T>() are read as they lie in the file, and T has pointers or constructors; give a plain "
      "struct of numbers and arrays");
  return {of, sizeof(T), options};
}

/// All of these records read into memory here: `in_memory<move>(files("games-*.bin")) | shuffle() |
/// batch(256)` has no read(), and takes a record about as fast as memory gives it.
/// \throws wick::error as records(), and when a file can't be read or changes meanwhile
template <class T>
detail::memory_items<T> in_memory(const files& of, const records_options& options = {}) {
  static_assert(std::is_default_constructible_v<T>,
                "wick: in_memory<T>(files) reads into a vector of T, and T has no default constructor");
  const detail::fixed_records all = records<T>(of, options);
  std::vector<T> items;
  items.reserve(static_cast<std::size_t>(all.size()));
  detail::in_large_pages(items.data(), items.capacity() * sizeof(T));
  items.resize(static_cast<std::size_t>(all.size()));
  all.read_into(reinterpret_cast<std::byte*>(items.data()));
  return detail::memory_items<T>(std::move(items));
}

/// Bytes that were read are a `T`, in the machine's byte order and with the padding that the compiler gives
/// it. \throws wick::error of the sample when there are more or fewer bytes
template <class T>
detail::decode_struct_stage<T> decode_struct() {
  static_assert(
      std::is_trivially_copyable_v<T> && std::is_default_constructible_v<T>,
      "wick: decode_struct<T>() copies the bytes of a T, and T has pointers or constructors; give a plain "
      "struct of numbers and arrays");
  return {};
}

}  // namespace wick
