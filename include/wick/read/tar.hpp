/// \file
/// A source of samples in tar shards, named as WebDataset names them: KEY.jpg, KEY.cls, KEY.json, …
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <wick/read/detail/glob.hpp>
#include <wick/read/detail/tar_index.hpp>
#include <wick/read/location.hpp>
#include <wick/read/record.hpp>
#include <wick/sample/error.hpp>
#include <wick/sample/sample.hpp>
#include <wick/sample/source.hpp>

namespace wick {

namespace detail {

/// The shards, in order: "train-{000000..000146}.tar", "train-*.tar" (natural order), or a list of such
/// names.
class shard_list {
 public:
  /// \throws wick::error when a wildcard matches nothing, or the list is empty
  template <class Pattern>
    requires std::convertible_to<const Pattern&, std::filesystem::path>
  shard_list(const Pattern& pattern) {  // NOLINT(google-explicit-constructor)
    add(std::filesystem::path(pattern));
  }
  shard_list(std::initializer_list<std::filesystem::path> patterns) : shard_list(std::vector(patterns)) {}
  shard_list(const std::vector<std::filesystem::path>& patterns) {  // NOLINT(google-explicit-constructor)
    for (const std::filesystem::path& p : patterns) add(p);
    if (paths.empty()) throw error("tar: the list of shards is empty; name at least one");
  }
  shard_list(const std::vector<std::string>& patterns)  // NOLINT(google-explicit-constructor)
      : shard_list(std::vector<std::filesystem::path>(patterns.begin(), patterns.end())) {}

  std::vector<std::string> paths;

 private:
  void add(const std::filesystem::path& pattern) {
    for (std::string& p : detail::expand_pattern(pattern.native(), "tar")) paths.push_back(std::move(p));
  }
};

struct tar_options {
  /// Samples that lack a wanted member.
  wick::incomplete incomplete = wick::incomplete::refuse;
};

/// Pictures and their classes in tar shards: `data` is where KEY's picture lies, `target` the number in
/// KEY.cls. Made by tar(shards).
class tar_samples {
 public:
  explicit tar_samples(shard_list shards, tar_options options = {})
      : index_(std::make_shared<const detail::tar_index>(
            std::move(shards.paths), record_fields({"jpg;jpeg;png;ppm;bmp;pgm;tif;tiff;webp;gif", "cls"}),
            true, options.incomplete)) {}

  std::uint64_t size() const noexcept { return index_->size(); }
  sample<location, std::int64_t> at(std::uint64_t i) const noexcept {
    const detail::tar_index::member& m = *index_->at(i);
    return {{index_->path(i), index_->file(i), m.offset, m.length, index_->stamp(i)}, index_->target(i)};
  }
  std::string key(std::uint64_t i) const {
    return printable(index_->path(i)) + ": " + printable(index_->key(i));
  }
  std::uint64_t fingerprint() const noexcept { return index_->fingerprint(); }
  /// Bytes that were read to build the index.
  std::uint64_t bytes_scanned() const noexcept { return index_->bytes_scanned(); }
  /// Incomplete samples that were left out, as the options allowed.
  std::uint64_t skipped() const noexcept { return index_->skipped(); }
  /// Paths, in order.
  const std::vector<std::string>& shards() const noexcept { return index_->shards(); }

 private:
  std::shared_ptr<const detail::tar_index> index_;
};

/// The members asked for, of each sample in tar shards. Made by tar(shards, {"jpg", "json"}).
class tar_records {
 public:
  tar_records(shard_list shards, const std::vector<std::string>& members, tar_options options = {})
      : index_(std::make_shared<const detail::tar_index>(std::move(shards.paths), record_fields(members),
                                                         false, options.incomplete)) {}

  std::uint64_t size() const noexcept { return index_->size(); }
  record<location> at(std::uint64_t i) const {
    record<location> out(index_->key(i), index_->fields());
    const detail::tar_index::member* m = index_->at(i);
    for (std::size_t f = 0; f < index_->members(); ++f) {
      out.push_back({index_->path(i), index_->file(i), m[f].offset, m[f].length, index_->stamp(i)});
    }
    return out;
  }
  std::string key(std::uint64_t i) const {
    return printable(index_->path(i)) + ": " + printable(index_->key(i));
  }
  std::uint64_t fingerprint() const noexcept { return index_->fingerprint(); }
  std::uint64_t bytes_scanned() const noexcept { return index_->bytes_scanned(); }
  std::uint64_t skipped() const noexcept { return index_->skipped(); }
  const std::vector<std::string>& shards() const noexcept { return index_->shards(); }

 private:
  std::shared_ptr<const detail::tar_index> index_;
};

}  // namespace detail

/// Tar shards of pictures with an integer class: KEY.jpg (or jpeg, png, ppm, bmp, pgm, tif, tiff, webp, gif:
/// the first of these that a sample has) and KEY.cls. KEY is the path up to the first dot of its last part;
/// members of a sample lie side by side. The headers are read here, once; shards stay open while the process
/// has descriptors to spare. v7, ustar, GNU and pax archives, also concatenated; folders, links and devices
/// are passed over. A shard that is replaced, changed or deleted later is an error of each sample that is
/// read from it. \throws wick::error when a shard is missing, cut off, compressed or damaged, a wanted member
/// is sparse or there twice, a KEY.cls holds no number, or a sample is incomplete
inline detail::tar_samples tar(detail::shard_list shards, detail::tar_options options = {}) {
  return detail::tar_samples(std::move(shards), options);
}

/// The same with members of your choice: `at(i)` is a record with one location for each of `members` (1 to
/// 8), in that order. "jpg;jpeg;png" takes the first of these that a sample has. What is not asked for is
/// never read.
inline detail::tar_records tar(detail::shard_list shards, const std::vector<std::string>& members,
                               detail::tar_options options = {}) {
  return detail::tar_records(std::move(shards), members, options);
}

}  // namespace wick
