// Samples kept in a folder, by their index in the source, for this process and others.
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

#include <wick/base/detail/condition.hpp>
#include <wick/base/detail/process.hpp>
#include <wick/ext/cache_bytes.hpp>
#include <wick/io/detail/plain_file.hpp>
#include <wick/pipeline/sample.hpp>

namespace wick::inline v0_1::detail {

/// A folder has a subfolder for each set: a source with the stages before the cache, as a fingerprint. It
/// contains `index`, with records of 64 bytes, and segments, with the concatenated bytes of samples. Small
/// samples are written together, in blocks. Records are appended after the bytes that they name are written,
/// under a lock of the file (flock), so a killed process leaves at most bytes that no record names, and makes
/// the samples of an unfinished block again. A record has checksums of itself and of the sample, so a sample
/// damaged by a power failure or a full disk is never served.
///
/// A segment has one writer at a time, which locks it. A process that uses a set holds a shared lock on
/// `in-use`. A process that needs room removes the sets without a lock.
class disk_cache {
 public:
  /// The place of a sample.
  struct entry {
    std::uint64_t origin = 0;  ///< of its source data, see origin_of()
    std::uint64_t offset = 0, length = 0;
    std::uint64_t content = 0;  ///< content_of() its bytes
    int file = -1;              ///< open while the cache lives; -1: not kept
    bool checked = false;       ///< this process has checked the origin and the bytes
    std::uint16_t block = 0;    ///< of add(), not written yet; 0: none
  };

  /// Opens the set, or makes it. Blocks. \param most  bytes of the folder; by default half of the free space
  /// \throws wick::error if the folder can't be used
  disk_cache(const std::string& folder, std::uint64_t set, std::uint64_t samples,
             std::optional<std::uint64_t> most);
  disk_cache(const disk_cache&) = delete;
  disk_cache& operator=(const disk_cache&) = delete;
  /// Writes what is pending, unless this is a forked child.
  ~disk_cache();

  /// Finds a sample that this process has checked, on a local file system. Any thread.
  bool find(std::uint64_t index, entry& out) const noexcept;
  /// Whether no process has kept the sample yet, if that is known without waiting. Any thread.
  bool is_absent(std::uint64_t index) noexcept;
  /// Finds a sample of the same origin that any process has kept since. May block.
  bool look(std::uint64_t index, std::uint64_t origin, entry& out);
  /// Reads and checks a sample's bytes. False if they are damaged, which also drops the sample. May block.
  bool read(std::uint64_t index, const entry& where, bytes& out);
  /// Keeps a sample that look() hasn't found, if there is room. Any thread. Returns true if the caller is to
  /// call settle() for it: the sample has filled a block, or the block is older than a second, or all samples
  /// are there, or 8 MiB aren't written yet. Never throws: a sample that can't be kept is made again.
  bool add(std::uint64_t index, std::uint64_t origin, std::vector<std::byte> sample) noexcept;
  /// Writes the block that the sample is in, or waits until another thread has. May block.
  void settle(std::uint64_t index) noexcept;

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

  /// Samples that are written together.
  struct block {
    std::vector<record> records;
    std::vector<std::vector<std::byte>> samples;
    std::uint64_t bytes = 0;
    std::int64_t begun = 0;  // when the first was added, or last to be written after a second
    std::uint16_t number = 1;
  };

  void open_set();
  /// Reads the records that other processes have appended. With index_mutex_.
  void read_index();
  void take(const record& r);
  int segment(std::uint32_t number);
  /// Opens a segment of this process, and finds its end. With index_mutex_.
  bool open_own_segment();
  /// Writes the pending block. May block.
  void write() noexcept;
  void write(block& b);
  /// Writes some of its samples. False: the others wouldn't fit, or couldn't be written.
  bool write_some(block& b, std::size_t first, std::size_t count);
  /// Leaves out samples that another process has kept meanwhile. With index_mutex_.
  void leave_out_known(block& b);
  static bool write_content(int file, std::span<const std::vector<std::byte>> samples, std::uint64_t offset);
  /// Returns how many of the records have been dealt with; fewer: see errno. \throws std::bad_alloc
  std::size_t append(std::span<const record> records);
  bool is_known(const record& r) noexcept;
  static void forget(entry& e) noexcept { e = {.block = e.block}; }
  /// Whether the pending block has all samples that aren't kept yet. With block_mutex_.
  bool is_last_block() const noexcept {
    return stale_.load(std::memory_order_relaxed) == 0 &&
           kept_.load(std::memory_order_relaxed) + unwritten_samples_ >= samples_;
  }
  /// The other sets of the folder.
  std::vector<std::string> other_sets() const;
  /// Counts the other sets' bytes, since other processes write, too. With index_mutex_.
  void count_others();
  /// With index_mutex_.
  bool make_room(std::uint64_t bytes);
  std::uint64_t used() const noexcept { return others_ + bytes_; }
  /// Returns the room of a sample that wasn't kept. With index_mutex_.
  void take_back(const record& r) noexcept;
  /// Without room, or after a disk error: keeps nothing for a while, then tries again.
  /// \param seen  full_until_ before the attempt
  void pause(std::int64_t seen, int fault) noexcept;

  const std::string root_, folder_;
  const std::uint64_t set_, samples_;
  std::uint64_t most_;
  file_handle in_use_, index_;
  bool local_ = false;  // the file system is local

  mutable std::array<std::mutex, 64> locks_;
  std::vector<entry> entries_;

  const process_mark born_;
  static constexpr std::uint64_t block_bytes = std::uint64_t{256} << 10, most_unwritten = 32 * block_bytes;
  std::mutex block_mutex_;  // before lock_of()
  condition written_;
  block block_;
  // Less where there is little room: other processes count what is written.
  std::uint64_t block_limit_ = block_bytes;
  std::uint64_t unwritten_ = 0, unwritten_samples_ = 0;  // of the pending block and those being written

  std::mutex index_mutex_;
  std::atomic<std::uint64_t> read_to_{0};  // of the index; written under the mutex
  std::vector<file_handle> files_;
  std::map<std::uint32_t, int> segments_;  // number: descriptor
  std::map<std::uint32_t, std::uint64_t> ends_;
  std::uint32_t own_ = 0;                 // 0: none yet
  std::uint64_t end_ = 0;                 // of the own segment
  std::uint64_t others_ = 0, bytes_ = 0;  // of other sets, of this one
  std::uint64_t count_again_ = 0;         // when this much is used

  std::atomic<std::uint64_t> kept_{0}, stale_{0}, damaged_{0};
  static constexpr std::int64_t first_pause = 10'000'000, longest_pause = 10'000'000'000;  // nanoseconds
  std::atomic<std::int64_t> full_until_{0};  // on the steady clock; 0: not full
  std::atomic<std::int64_t> pause_{first_pause};
  std::atomic<int> fault_{0};
  std::array<counters, 16> counters_;
};

/// Reads a sample from the page cache, as far as the kernel has it, without waiting.
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
