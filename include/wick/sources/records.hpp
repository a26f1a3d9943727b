// Records of one size, one after the other in files: samples of games, CIFAR's images, or arrays of
// structs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <wick/ext/file_range.hpp>
#include <wick/io/detail/large_pages.hpp>
#include <wick/pipeline/sample.hpp>
#include <wick/sources/detail/row_files.hpp>
#include <wick/sources/files.hpp>
#include <wick/sources/memory.hpp>

namespace wick::inline v0_1 {

/// Options of records().
struct records_options {
  std::uint64_t header = 0;  ///< bytes before the first record of each file
  /// Bytes from the beginning of one record to that of the next. Default: records are contiguous.
  std::optional<std::uint64_t> stride = {};
  /// Also reads files that begin like a compressed file, an archive, or a web page: their bytes are the data.
  bool raw = false;
};

namespace detail {

/// A source of file ranges: the records of files, one file after the other.
class fixed_records {
 public:
  /// \param bytes  the size of a record
  fixed_records(const files& of, std::uint64_t bytes, const records_options& options);
  std::uint64_t size() const noexcept { return begins_->back(); }
  file_range at(std::uint64_t i) const noexcept;
  std::string key(std::uint64_t i) const;
  /// A hash of the paths below the files' common folder, and of the number of records in each file.
  std::uint64_t fingerprint() const noexcept;
  /// Reads all records, one after the other. Blocks. \throws wick::error when a file can't be read or has
  /// changed
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

}  // namespace detail

/// Each record of `bytes` bytes in these files is a sample: `at(i)` is its file range, for read(). records()
/// opens the files once to get their sizes; a file that changes later is an error of its samples.
/// \throws wick::error when a file is missing, is compressed, or is in another format (.npy, a Git LFS
/// pointer, …), or when the bytes after its header aren't a whole number of records
inline detail::fixed_records records(const files& of, std::uint64_t bytes,
                                     const records_options& options = {}) {
  return {of, bytes, options};
}

/// The same for structs: `records<move>(files("games-*.bin"), {.header = 16}) | shuffle() | read() |
/// decode_raw<move>() | batch(256)`. A batch has one tensor for each field.
template <class T>
detail::fixed_records records(const files& of, const records_options& options = {}) {
  static_assert(
      std::is_trivially_copyable_v<T>,
      "wick: records<T>() are read as they lie in the file, and T has pointers or constructors; give a plain "
      "struct of numbers and arrays");
  return {of, sizeof(T), options};
}

/// Reads all of these records into memory: `in_memory<move>(files("games-*.bin")) | shuffle() |
/// batch(256)` needs no read(), and takes records about as fast as memory delivers them.
/// \throws wick::error as records() does, and when a file can't be read or changes meanwhile
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

}  // namespace wick
