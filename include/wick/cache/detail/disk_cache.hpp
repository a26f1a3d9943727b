/// \file
/// Samples kept in a folder, by their index in the source, for this process and others.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <wick/ext/cache_bytes.hpp>
#include <wick/io/detail/plain_file.hpp>
#include <wick/pipeline/sample.hpp>

namespace wick::inline v0_1::detail {

/// A folder has a subfolder for each set: a source with the stages before the cache, as a fingerprint. In it
/// lie `index`, records of 64 bytes, and segments, bytes of samples one after the other. An index record is
/// appended when the bytes that it names are written, under a lock of the file (flock), so a process that is
/// killed leaves at most bytes that no record names. A record has a checksum of itself and of the sample:
/// a sample that a power failure or a full disk has torn is not served.
///
/// A segment has one writer at a time, which locks it. A process that uses a set has a shared lock on
/// `in-use`. A process that needs room removes the sets without one.
class disk_cache {
 public:
  /// Where a sample lies.
  struct entry {
    std::uint64_t origin = 0;  ///< of what it was made, see origin_of()
    std::uint64_t offset = 0, length = 0;
    std::uint64_t content = 0;  ///< content_of() its bytes
    int file = -1;              ///< open as long as the cache lives; -1: not kept
    bool checked = false;       ///< by this process: the origin, and the bytes
  };

  /// Opens the set, or makes it. Blocks. \param most  bytes of the folder; by default half of what is
  /// free.
  /// \throws wick::error when the folder can't be used
  disk_cache(const std::string& folder, std::uint64_t set, std::uint64_t samples,
             std::optional<std::uint64_t> most);
  disk_cache(const disk_cache&) = delete;
  disk_cache& operator=(const disk_cache&) = delete;
  ~disk_cache() = default;

  /// A sample that this process has checked, on a file system that can be asked without waiting. Any thread.
  bool find(std::uint64_t index, entry& out) const noexcept;
  /// A sample that any process has kept since, made of the same. May block.
  bool look(std::uint64_t index, std::uint64_t origin, entry& out);
  /// Reads and checks its bytes. False when they are damaged: the sample is no longer kept then. May block.
  bool read(std::uint64_t index, const entry& where, bytes& out);
  /// Keeps a sample that look() has not found, if there is room. May block. Nothing is thrown: what can't be
  /// kept is made again.
  void add(std::uint64_t index, std::uint64_t origin, std::span<const std::byte> sample) noexcept;

  void count(bool hit, std::size_t lane) noexcept {
    counters& mine = counters_[lane % counters_.size()];
    (hit ? mine.hits : mine.misses).fetch_add(1, std::memory_order_relaxed);
  }
  /// A line for the report; empty before the first sample.
  std::string note() const;

  static constexpr std::size_t record_size = 64;

 private:
  struct alignas(64) counters {
    std::atomic<std::uint64_t> hits{0}, misses{0};
  };
  struct record;

  entry& at(std::uint64_t index) noexcept { return entries_[static_cast<std::size_t>(index)]; }
  std::mutex& lock_of(std::uint64_t index) const noexcept { return locks_[index % locks_.size()]; }

  void open_set();
  /// Takes what other processes have appended. With index_mutex_.
  void read_index();
  void take(const record& r);
  int segment(std::uint32_t number);
  /// A segment of this process, and where it ends. With index_mutex_.
  bool open_own_segment();
  bool append(record r);
  /// The other sets of the folder.
  std::vector<std::string> other_sets() const;
  /// Counts their bytes, since other processes write, too. With index_mutex_.
  void count_others();
  /// With index_mutex_.
  bool make_room(std::uint64_t bytes);
  std::uint64_t used() const noexcept { return others_ + bytes_; }
  /// Gives back the room of a sample that was not kept. With index_mutex_.
  void take_back(const record& r) noexcept;
  /// There is no room, or the disk refuses: nothing is kept for a while, then it is tried again.
  /// \param seen  full_until_ before the attempt
  void pause(std::int64_t seen, int fault) noexcept;

  const std::string root_, folder_;
  const std::uint64_t set_, samples_;
  std::uint64_t most_;
  file_handle in_use_, index_;
  bool local_ = false;  // its file system is this kernel's alone

  mutable std::array<std::mutex, 64> locks_;
  std::vector<entry> entries_;

  std::mutex index_mutex_;
  std::uint64_t read_to_ = 0;  // of the index
  std::vector<file_handle> files_;
  std::map<std::uint32_t, int> segments_;  // number: descriptor
  std::map<std::uint32_t, std::uint64_t> ends_;
  std::uint32_t own_ = 0;                 // 0: none yet
  std::uint64_t end_ = 0;                 // of the own segment
  std::uint64_t others_ = 0, bytes_ = 0;  // of other sets, of this one
  std::uint64_t count_again_ = 0;         // when so much is used

  std::atomic<std::uint64_t> kept_{0}, stale_{0}, damaged_{0};
  static constexpr std::int64_t first_pause = 10'000'000, longest_pause = 10'000'000'000;  // nanoseconds
  std::atomic<std::int64_t> full_until_{0};  // on the steady clock; 0: it isn't full
  std::atomic<std::int64_t> pause_{first_pause};
  std::atomic<int> fault_{0};
  std::array<counters, 16> counters_;
};

/// Reads a sample that lies in the page cache, without waiting: from a file, as far as the kernel has it.
class cached_file_reader final : public cache_reader {
 public:
  explicit cached_file_reader(const disk_cache::entry& where) noexcept;
  std::size_t left() const noexcept override { return ready_.size() + static_cast<std::size_t>(rest_); }

 private:
  void fetch(std::byte* to, std::size_t size) override;

  int file_;
  std::uint64_t offset_, rest_;  // of the bytes after ready_
  std::array<std::byte, 512> head_;
};

}  // namespace wick::detail
