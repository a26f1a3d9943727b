/// \file
/// Where the samples of files lie, kept on disk, so that the next start need not read the files again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <wick/ext/file_stamp.hpp>
#include <wick/io/detail/file_extents.hpp>

namespace wick::inline v0_1::detail {

/// The file: "wicktext", then little-endian numbers of 8 bytes: version, fingerprint of the rule, number of
/// files; for each file the length of its name, its name, its size, the seconds and nanoseconds of its last
/// change, how many samples it has, the length of their code, the code; last a checksum of all before it.
class kept_index {
 public:
  /// What is kept of a file. Its name is that below the folder that all share, so that the data may move.
  struct entry {
    std::string_view name;
    const file_stamp* stamp;
    const file_extents* extents;
  };

  /// Nothing, when there is no such file, or it is damaged, of another version, or of another rule.
  /// \throws wick::error when another kind of file lies there
  kept_index(const std::string& path, std::uint64_t rule);

  /// What it has of this file; false when that is not there, or the file has changed.
  bool find(std::string_view name, const file_stamp& now, file_extents& out) const;
  std::size_t size() const noexcept { return files_.size(); }

  /// Puts an index of these in the place of the old one. \throws wick::error, and the old one is as it was
  static void write(const std::string& path, std::uint64_t rule, const std::vector<entry>& files);

 private:
  struct kept {
    std::string_view name;
    std::uint64_t size, samples;
    std::int64_t seconds, nanoseconds;
    std::string_view code;
  };

  bool parse(std::uint64_t rule);

  std::string all_;
  std::vector<kept> files_;
};

}  // namespace wick::detail
