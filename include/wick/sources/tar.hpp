// A source of samples in tar shards, named as WebDataset names them: KEY.jpg, KEY.cls, KEY.json, …
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <wick/ext/file_range.hpp>
#include <wick/io/record.hpp>
#include <wick/io/remote_list.hpp>
#include <wick/pipeline/sample.hpp>
#include <wick/sources/detail/tar_index.hpp>

namespace wick::inline v0_1 {

namespace detail {
class tar_samples;
class tar_records;
}  // namespace detail

/// How to treat a sample that lacks a wanted member.
enum class missing_member : unsigned char {
  refuse,     ///< throws an error when the shards are indexed
  leave_out,  ///< leaves the sample out and counts it in skipped()
};

/// Where the key of a sample ends in its members' names.
enum class tar_key : unsigned char {
  to_first_dot,  ///< "v1.0_0.seg.png" is the member "0_0.seg.png" of "v1", as in WebDataset
  to_last_dot,   ///< "v1.0_0.seg.png" is the member "png" of "v1.0_0.seg"
};

/// The shards, in order: "train-{000000..000146}.tar", "train-*.tar" (natural order), or a list of such
/// names. For shards on servers, pass the result of wick::remote(), or URLs if the program includes
/// <wick/stores/remote.hpp>.
class shard_list {
 public:
  /// \throws wick::error when a wildcard matches nothing, or the list is empty
  template <class Pattern>
    requires std::convertible_to<const Pattern&, std::string>
  shard_list(const Pattern& pattern) {  // NOLINT(google-explicit-constructor)
    add(pattern);
  }
  shard_list(std::initializer_list<std::string> patterns);
  template <class Pattern>
    requires std::convertible_to<const Pattern&, std::string>
  shard_list(const std::vector<Pattern>& patterns) {  // NOLINT(google-explicit-constructor)
    add_all(std::vector<std::string>(patterns.begin(), patterns.end()));
  }
  /// The result of wick::remote().
  shard_list(const remote_list& objects);  // NOLINT(google-explicit-constructor)

  std::vector<std::string> paths;

 private:
  friend class detail::tar_samples;
  friend class detail::tar_records;

  void add(const std::string& pattern);
  void add_all(const std::vector<std::string>& patterns);

  std::shared_ptr<detail::object_store> store_;  // of the paths that are URLs
};

/// Options of tar().
struct tar_options {
  /// How to treat a sample that lacks a wanted member.
  wick::missing_member missing_member = wick::missing_member::refuse;
  /// Keeps the index of each shard next to it, as SHARD.wickidx, so the next start reads no shard. The index
  /// of a shard on a server is kept in the user's cache folder ($XDG_CACHE_HOME/wick, else ~/.cache/wick). It
  /// isn't needed if SHARD.wickidx is next to the shard on the server.
  bool keep_index = false;
  /// Which dot ends the key, for names with dots that belong to the key, as in "v1.0_0.jpg".
  tar_key key = tar_key::to_first_dot;
};

namespace detail {

/// Images and their classes in tar shards: `data` is the file range of KEY's image, and `target` is the
/// number in KEY.cls. Made by tar(shards).
class tar_samples {
 public:
  explicit tar_samples(shard_list shards, tar_options options = {});

  std::uint64_t size() const noexcept { return index_->size(); }
  sample<file_range, std::int64_t> at(std::uint64_t i) const noexcept;
  std::string key(std::uint64_t i) const;
  std::uint64_t fingerprint() const noexcept { return index_->fingerprint(); }
  /// The number of bytes read to build the index.
  std::uint64_t bytes_scanned() const noexcept { return index_->bytes_scanned(); }
  /// A problem, such as an index that couldn't be kept; empty if there is none.
  std::string note() const { return index_->note(); }
  /// The number of incomplete samples that were left out, as the options allow.
  std::uint64_t skipped() const noexcept { return index_->skipped(); }
  /// The paths, in order.
  const std::vector<std::string>& shards() const noexcept { return index_->shards(); }

 private:
  std::shared_ptr<const detail::tar_index> index_;
};

/// The requested members of each sample in tar shards. Made by tar(shards, {"jpg", "json"}).
class tar_records {
 public:
  tar_records(shard_list shards, const std::vector<std::string>& members, tar_options options = {});

  std::uint64_t size() const noexcept { return index_->size(); }
  record<file_range> at(std::uint64_t i) const;
  std::string key(std::uint64_t i) const;
  std::uint64_t fingerprint() const noexcept { return index_->fingerprint(); }
  std::uint64_t bytes_scanned() const noexcept { return index_->bytes_scanned(); }
  /// A problem, such as an index that couldn't be kept; empty if there is none.
  std::string note() const { return index_->note(); }
  std::uint64_t skipped() const noexcept { return index_->skipped(); }
  const std::vector<std::string>& shards() const noexcept { return index_->shards(); }

 private:
  std::shared_ptr<const detail::tar_index> index_;
};

}  // namespace detail

/// Tar shards of images with an integer class: KEY.jpg (or jpeg, png, ppm, bmp, pgm, tif, tiff, webp, gif:
/// the first of these that a sample has) and KEY.cls. KEY is the path up to the first dot of its last part
/// (`.key`), and the members of a sample are adjacent. tar() reads the headers once, and shards stay open
/// while the process has descriptors to spare. It reads v7, ustar, GNU, and pax archives, also concatenated,
/// and skips folders, links, and devices. A shard that is replaced, changed, or deleted later is an error of
/// each sample that is read from it.
///
/// With `.keep_index = true`, the index of each shard is kept next to it and read the next time, unless the
/// shard has another size or time. An index that can't be written is a note in the report. For a shard on a
/// server, tar() asks for SHARD.wickidx; if there is none, it reads the whole shard for its headers. To
/// avoid that, write one with wick-index, store it next to the shard, and do so again when the shard changes.
/// \throws wick::error when a shard is missing, truncated, compressed, or damaged, when a wanted member is
/// sparse or is there twice, when a KEY.cls holds no number, or when a sample is incomplete
detail::tar_samples tar(shard_list shards, tar_options options = {});

/// The same with members of your choice: `at(i)` is a record with one file range for each of `members` (1 to
/// 8), in that order. "jpg;jpeg;png" takes the first of these that a sample has. Other members are never
/// read.
detail::tar_records tar(shard_list shards, std::initializer_list<std::string> members,
                        tar_options options = {});
// A template, so that g++ doesn't try to make a vector of `{.keep_index = true}`.
template <std::same_as<std::vector<std::string>> Members>
detail::tar_records tar(shard_list shards, const Members& members, tar_options options = {}) {
  return detail::tar_records(std::move(shards), members, options);
}

/// Writes SHARD.wickidx, the index of member locations that `keep_index` keeps next to a local shard.
/// Stored next to the shard on a server, it saves reading the shard. The tool wick-index does this. Returns
/// the number of members. \throws wick::error for a shard that is missing, truncated, compressed, or damaged,
/// or when the index can't be written
std::uint64_t write_tar_index(const std::string& shard);

}  // namespace wick
