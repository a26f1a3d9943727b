// The records of an LMDB database as a source. The implementation is in the target wick::lmdb.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <wick/ext/file_range.hpp>

namespace wick::inline v0_1 {

/// Options of lmdb().
struct lmdb_options {
  std::string database = {};  ///< a named database; empty: the unnamed one
  std::string prefix = {};    ///< only the keys that begin with this: "image-"
};

namespace detail {

/// Made by lmdb(path). Takes 20 bytes of memory a record, and its key.
class lmdb_records {
 public:
  lmdb_records(const std::string& path, const lmdb_options& options);

  std::uint64_t size() const noexcept;
  file_range at(std::uint64_t i) const noexcept;
  std::string key(std::uint64_t i) const;
  /// A hash of the file's name, the options, the keys, and the records' lengths.
  std::uint64_t fingerprint() const noexcept;

 private:
  struct index;
  std::shared_ptr<const index> index_;
};

}  // namespace detail

/// Each value of an LMDB database is a sample, in the order of the keys, for read(): `lmdb("train.lmdb") |
/// shuffle() | read() | decode() | …`. `path` is a folder with data.mdb, or the file itself. To pair the
/// values of two keys, write `zip(lmdb(path, {.prefix = "image-"}), lmdb(path, {.prefix = "label-"}))`.
/// lmdb() reads the keys once, through LMDB. read() reads the values from the file like any other, so a file
/// that shrinks or changes is an error of its samples. LMDB trusts the contents of the file: open only files
/// that you trust. Needs the target wick::lmdb. \throws wick::error when there is no such file, database, or
/// key, or when LMDB can't read the file
detail::lmdb_records lmdb(const std::string& path, const lmdb_options& options = {});

}  // namespace wick
