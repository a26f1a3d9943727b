/// \file
/// Where the samples of a set of files lie, of sources that must look through files to know: found in one
/// pass over them, or read from where it was kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <wick/ext/file_range.hpp>
#include <wick/io/detail/file_extents.hpp>
#include <wick/sources/detail/opened_files.hpp>
#include <wick/sources/files.hpp>

namespace wick::inline v0_1::detail {

/// How a source finds the samples of a file.
class extent_finder {
 public:
  /// Looks through the file. Blocks. Several threads at once, for several files. \throws wick::error without
  /// the file's name
  virtual file_extents find(const opened_files::look& in) const = 0;
  /// Another number where other samples are found.
  virtual std::uint64_t fingerprint() const noexcept = 0;

 protected:
  ~extent_finder() = default;
};

class file_index {
 public:
  /// \param who   the source, for messages
  /// \param kept  the path of the index on disk; empty: none
  /// \throws wick::error when a file can't be read or changes meanwhile, or none has a sample
  file_index(const files& paths, const char* who, const extent_finder& by, const std::string& kept);

  std::uint64_t size() const noexcept { return firsts_.back(); }
  file_range at(std::uint64_t i) const noexcept;
  /// A sample by its file, and by its number in that.
  struct place {
    std::size_t file;
    std::uint64_t number;
  };
  place find(std::uint64_t i) const noexcept;
  const files& paths() const noexcept { return files_.paths(); }
  /// Of the files' names and of where their samples lie; not of where the files lie.
  std::uint64_t fingerprint() const noexcept;
  /// Of files, to make the index.
  std::uint64_t bytes_scanned() const noexcept { return bytes_scanned_; }
  const std::string& note() const noexcept { return note_; }

 private:
  void keep(const std::string& path, std::uint64_t rule);

  opened_files files_;
  std::vector<file_extents> extents_;
  std::vector<std::uint64_t> firsts_{0};  // index of each file's first sample; last, their number
  std::uint64_t bytes_scanned_ = 0;
  std::string note_;
};

}  // namespace wick::detail
