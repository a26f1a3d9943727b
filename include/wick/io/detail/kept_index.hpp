// The samples' locations in files, kept on disk, so that the next start needn't read the files again.
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
/// change, its number of samples, the length of their code, the code; at the end a checksum of everything
/// before.
class kept_index {
 public:
  /// A file's entry. Its name is relative to the folder that all files share, so the data may be moved.
  struct entry {
    std::string_view name;
    const file_stamp* stamp;
    const file_extents* extents;
  };

  /// Empty if there is no such file, or it is damaged, of another version, or for another rule.
  /// \throws wick::error if the path is another kind of file
  kept_index(const std::string& path, std::uint64_t rule);

  /// Gets the extents of this file; false if it isn't in the index or has changed.
  bool find(std::string_view name, const file_stamp& now, file_extents& out) const;
  std::size_t size() const noexcept { return files_.size(); }

  /// Replaces the old index by one of these files. \throws wick::error, and the old one is unchanged
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
