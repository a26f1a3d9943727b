// The members of a tar shard in a file next to it, so that the next start needn't walk the shard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <wick/ext/file_stamp.hpp>
#include <wick/sources/detail/tar_scan.hpp>

namespace wick::inline v0_1::detail {

/// The file, SHARD.wickidx: "wicktar1", then little-endian numbers of 8 bytes: size of the shard, seconds and
/// nanoseconds of its last change, number of members; the members; at the end a checksum of everything
/// before. A member is: the number of bytes that its name shares with the previous one's, the number of its
/// other bytes, and those; its kind; the distance of its data from the start of the previous member's; their
/// length; and, for a KEY.cls, the data. Numbers in a member are in base 128, least significant digits first,
/// as in DWARF's LEB128.
class kept_tar_writer {
 public:
  /// \param from  the scan that returned the member last
  void add(const tar_entry& member, tar_scan& from);
  std::string finish(const file_stamp& shard) const;
  /// Whether a member's data are kept: small labels only.
  static bool keeps_data(const tar_entry& member) noexcept;

 private:
  std::string members_, last_;
  std::uint64_t count_ = 0, end_ = 0;
};

/// Returns the members, like tar_scan. Accepts any bytes with a valid checksum.
class kept_tar_reader {
 public:
  /// The most bytes of all names, per byte of the index, in which names share their beginnings.
  static constexpr std::uint64_t most_of_names = 1000;

  /// The content of `path` for that shard; nothing if it is for another shard, damaged, or doesn't exist.
  static std::optional<std::string> load(const std::string& path, const file_stamp& shard);
  /// The size of the shard that `all` is the index of; nothing if it is damaged.
  static std::optional<std::uint64_t> shard_size(std::string_view all);

  /// \param all    the result of load(); must outlive this
  /// \param shard  for messages
  kept_tar_reader(std::string_view all, std::string shard);
  /// \throws wick::error when a member isn't within the shard
  bool next(tar_entry& out);
  /// The data of the member that next() returned last.
  std::string_view data(const tar_entry&) const noexcept { return data_; }

 private:
  std::uint64_t number() noexcept;
  std::string_view text(std::uint64_t size) noexcept;

  std::string_view left_, data_;
  std::string shard_;
  std::uint64_t size_ = 0, count_ = 0, names_left_ = 0, end_ = 0;
};

}  // namespace wick::detail
