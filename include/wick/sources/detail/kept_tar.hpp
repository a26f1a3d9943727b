/// \file
/// The members of a tar shard in a file beside it, so that the next start need not walk the shard.
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
/// nanoseconds of its last change, number of members; the members; last a checksum of all before it. A member
/// is: how many bytes its name shares with that before it, how many others it has, and those; what it is; how
/// far its data follow where those before begin; their length; and, of a KEY.cls, the data. Numbers in a
/// member are in base 128, least digits first, as in DWARF's LEB128.
class kept_tar_writer {
 public:
  /// \param from  gave the member last
  void add(const tar_entry& member, tar_scan& from);
  std::string finish(const file_stamp& shard) const;
  /// Whose data are kept: small ones of labels.
  static bool keeps_data(const tar_entry& member) noexcept;

 private:
  std::string members_, last_;
  std::uint64_t count_ = 0, end_ = 0;
};

/// Gives the members as tar_scan does, of any bytes with a right checksum.
class kept_tar_reader {
 public:
  /// All names together have so many times the bytes of the index, in which they share their beginnings.
  static constexpr std::uint64_t most_of_names = 1000;

  /// What `path` keeps of that shard; nothing when it is another's, damaged, or not there.
  static std::optional<std::string> load(const std::string& path, const file_stamp& shard);
  /// The size of the shard that `all` is the index of; nothing when it is damaged.
  static std::optional<std::uint64_t> shard_size(std::string_view all);

  /// \param all    what load() gave; lives longer
  /// \param shard  for messages
  kept_tar_reader(std::string_view all, std::string shard);
  /// \throws wick::error when a member does not lie in the shard
  bool next(tar_entry& out);
  /// Of the member that next() gave last.
  std::string_view data(const tar_entry&) const noexcept { return data_; }

 private:
  std::uint64_t number() noexcept;
  std::string_view text(std::uint64_t size) noexcept;

  std::string_view left_, data_;
  std::string shard_;
  std::uint64_t size_ = 0, count_ = 0, names_left_ = 0, end_ = 0;
};

}  // namespace wick::detail
