// The samples' locations in a set of files, for sources that must scan the files to find them: found in one
// pass, or read from a kept index.
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

/// Finds the samples of a file.
class extent_finder {
 public:
  /// Scans the file. Blocks. Called by several threads at once, for different files. \throws wick::error
  /// without the file's name
  virtual file_extents find(const opened_files::look& in) const = 0;
  /// Differs if other samples are found.
  virtual std::uint64_t fingerprint() const noexcept = 0;

 protected:
  ~extent_finder() = default;
};

class file_index {
 public:
  /// \param who   the source, for messages
  /// \param kept  the path of the index on disk; empty for none
  /// \throws wick::error when a file can't be read or changes meanwhile, or no file has a sample
  file_index(const files& paths, const char* who, const extent_finder& by, const std::string& kept);

  std::uint64_t size() const noexcept { return firsts_.back(); }
  file_range at(std::uint64_t i) const noexcept;
  /// A sample's file, and its number within that file.
  struct place {
    std::size_t file;
    std::uint64_t number;
  };
  place find(std::uint64_t i) const noexcept;
  const files& paths() const noexcept { return files_.paths(); }
  /// Of the files' names and the samples' locations in them; independent of the files' folder.
  std::uint64_t fingerprint() const noexcept;
  /// The number of bytes read to make the index.
  std::uint64_t bytes_scanned() const noexcept { return bytes_scanned_; }
  const std::string& note() const noexcept { return note_; }

 private:
  void keep(const std::string& path, std::uint64_t rule);

  opened_files files_;
  std::vector<file_extents> extents_;
  std::vector<std::uint64_t> firsts_{0};  // index of each file's first sample; last, the number of samples
  std::uint64_t bytes_scanned_ = 0;
  std::string note_;
};

}  // namespace wick::detail
