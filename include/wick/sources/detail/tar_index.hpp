// The samples of a set of tar shards, and the locations of their wanted members. Built once, from headers
// alone.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <wick/base/detail/owned.hpp>
#include <wick/ext/file_stamp.hpp>
#include <wick/io/detail/index_lock.hpp>
#include <wick/io/detail/object_store.hpp>
#include <wick/io/record.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/sources/detail/open_shards.hpp>
#include <wick/sources/detail/tar_scan.hpp>

namespace wick::inline v0_1::detail {

class tar_index {
 public:
  struct member {
    std::uint64_t offset, length;
  };

  /// With `labels`, the last field is an integer in decimal digits, which is read at once and not kept as a
  /// member.
  /// `skip_incomplete`: a sample that lacks a wanted member is left out and counted; otherwise it is an
  /// error.
  /// `keep`: the members of each shard are read from SHARD.wickidx, or written there.
  /// `store`: the store of the shards that are URLs.
  /// `last_dot`: keys end at the last dot of a name, otherwise at the first.
  tar_index(std::vector<std::string> shards, std::shared_ptr<object_store> store, record_fields fields,
            bool labels, bool skip_incomplete, bool keep, bool last_dot = false);

  const record_fields& fields() const noexcept { return fields_; }
  std::uint64_t size() const noexcept { return samples_.size(); }
  std::uint64_t bytes_scanned() const noexcept { return bytes_scanned_.load(std::memory_order_relaxed); }
  std::uint64_t skipped() const noexcept { return skipped_; }
  /// Which indexes couldn't be kept; empty if there is no problem.
  std::string note() const;
  const std::vector<std::string>& shards() const noexcept { return shards_; }
  /// The shard of sample i, as messages show it.
  const std::string& shard(std::uint64_t i) const noexcept { return shards_[samples_[i].shard]; }

  const char* path(std::uint64_t i) const noexcept { return paths_[samples_[i].shard].c_str(); }
  /// Null for a local shard.
  remote_object* object(std::uint64_t i) const noexcept { return object_of(samples_[i].shard); }
  int file(std::uint64_t i) const noexcept { return open_[samples_[i].shard]; }
  /// The shard's state when it was indexed.
  const file_stamp* stamp(std::uint64_t i) const noexcept {
    return object(i) == nullptr ? &stamps_[samples_[i].shard] : nullptr;
  }
  std::string_view key(std::uint64_t i) const noexcept;
  std::int64_t target(std::uint64_t i) const noexcept { return targets_[i]; }
  /// The members of sample i, members() in number.
  const member* at(std::uint64_t i) const noexcept { return members_.data() + i * members(); }
  std::size_t members() const noexcept { return fields_.size() - (labels_ ? 1 : 0); }

  /// Of keys, sizes, and targets, and of the wanted extensions; independent of the shards' location.
  std::uint64_t fingerprint() const noexcept;

 private:
  struct place {
    std::uint32_t shard;
    std::uint32_t key;  // within the shard's keys
  };
  struct found {
    member where{};
    std::size_t alternative = 0;
    bool there = false;
  };
  /// The sample whose members are being read.
  struct gathered {
    std::string key;
    std::string all;      // its extensions, for messages
    bool dotted = false;  // whether one of them has a dot
    std::array<found, record_fields::max_fields> wanted{};
    std::int64_t target = 0;
  };

  void add_shard(std::size_t shard);
  void add_remote_shard(std::size_t shard);
  /// Gets the members of all shards that are URLs, several at a time, in kept_tar_writer's format.
  void fetch_remote();
  std::string fetch(std::size_t shard);
  /// Loads a kept index. If the first one is missing, another process may be about to write them, so this
  /// waits.
  std::optional<std::string> load(const std::string& at, const file_stamp& shard);
  /// Writes an index; a failure becomes a note.
  void keep(const std::string& at, const std::string& all);
  void note_that(std::string what);
  remote_object* object_of(std::size_t shard) const noexcept {
    return !objects_ || objects_[shard].store == nullptr ? nullptr : &objects_[shard];
  }
  /// Reads all members, from a tar_scan or a kept_tar_reader.
  template <class Members, class Seen>
  void walk(std::size_t shard, Members& members, Seen&& seen);

  template <class Members>
  void take(Members& members, const tar_entry& entry, gathered& now, std::string_view extension,
            const std::string& path);

  static std::int64_t label(std::string_view text, const tar_entry& entry, const std::string& key,
                            const std::string& path);

  void close(std::size_t shard, const gathered& sample);

  static error sample_problem(const std::string& path, const std::string& key, const std::string& what);
  std::string wanted() const;

  record_fields fields_;
  bool labels_;
  bool skip_incomplete_;
  bool keep_;
  bool last_dot_;
  open_shards open_;
  std::vector<std::string> paths_;
  std::vector<std::string> shards_;  // the same, for messages
  std::shared_ptr<object_store> store_;
  owned<remote_object[]> objects_;
  std::vector<std::string> fetched_;  // until they are added
  std::vector<file_stamp> stamps_;
  std::vector<std::string> keys_;  // a shard's keys, NUL after each
  std::vector<place> samples_;
  std::vector<member> members_;
  std::vector<std::int64_t> targets_;
  std::atomic<std::uint64_t> bytes_scanned_{0};
  std::uint64_t skipped_ = 0;
  std::string note_;
  std::mutex noting_;
  index_lock making_;  // held under the first shard's index path until all are made
};

}  // namespace wick::detail
