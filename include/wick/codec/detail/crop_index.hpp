// Remembers where MCUs of JPEGs begin, from epoch to epoch, so that decoding a crop can start near it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <wick/codec/detail/jpeg_place.hpp>
#include <wick/codec/detail/jpeg_walk.hpp>
#include <wick/codec/detail/packed_places.hpp>
#include <wick/ext/codec.hpp>

namespace wick::inline v0_1::detail {

/// The MCU places of many images, keyed by a hash of all of a file's bytes. Thread-safe. It never evicts an
/// entry: each epoch reads every image once, so the least recently used entry is the next one needed.
class crop_index : public decoder_notes {
 public:
  /// \param budget bytes
  explicit crop_index(std::size_t budget) noexcept : budget_(budget) {}
  crop_index(const crop_index&) = delete;
  crop_index& operator=(const crop_index&) = delete;

  /// Hashes the whole file, at about 20 GB/s.
  static std::uint64_t key_of(std::span<const std::byte> encoded) noexcept;

  /// Whether the index holds, or could hold, this file's places. Samples only a few bytes: once the index is
  /// full, files that aren't in it should cost nothing.
  bool may_have(std::span<const std::byte> encoded) noexcept;
  /// Gives the walk the known places of this file. The walk notes more places while the index has room.
  /// \throws wrong_jpeg_place when the entry is damaged
  void begin(std::uint64_t key, jpeg_walk& walk);
  /// Stores the places that the walk noted, if there is memory.
  void end(std::uint64_t key, const jpeg_walk& walk) noexcept;
  /// Forgets a file that had a wrong place.
  void drop(std::uint64_t key) noexcept;

  /// Stores these places, unchecked, for a file that has `total` of them.
  void keep(std::uint64_t key, std::span<const jpeg_place> places, std::size_t total);

  /// All entries as bytes in the machine's byte order, with their checksum.
  std::vector<std::byte> saved();
  /// Adds the entries of saved(), as far as there is room. False when the length or the checksum is wrong.
  bool load(std::span<const std::byte> saved);
  /// Whether the index has changed since it was last saved or loaded.
  bool changed() const noexcept { return changed_.load(std::memory_order_relaxed); }

  std::size_t pictures() const noexcept { return pictures_.load(std::memory_order_relaxed); }
  std::size_t bytes() const noexcept { return bytes_.load(std::memory_order_relaxed); }
  std::size_t dropped() const noexcept { return dropped_.load(std::memory_order_relaxed); }
  bool full() const noexcept { return full_.load(std::memory_order_relaxed); }
  /// Sets the file's part of note(). Call it before other threads see the index.
  void say_of_file(std::string what) { of_file_ = std::move(what); }
  /// For the report: an unusable file, wrong entries, or a budget that is too small; empty if there are none.
  std::string note() const;

 private:
  struct entry {
    packed_places places;
    std::uint64_t checksum = 0;
  };
  struct alignas(64) shard {
    std::mutex lock;
    std::unordered_map<std::uint64_t, entry> entries;
  };
  static std::uint64_t checksum(std::uint64_t key, const packed_places& places) noexcept;
  static std::size_t size_of(std::size_t places) noexcept;
  std::atomic<std::uint64_t>& seen_bit(std::span<const std::byte> encoded, std::uint64_t& bit) noexcept;
  shard& shard_of(std::uint64_t key) noexcept { return shards_[key % shards_.size()]; }

  std::array<shard, 16> shards_;
  std::array<std::atomic<std::uint64_t>, 1 << 13>
      seen_{};  // one bit for each file that may_have() saw while there was room
  const std::size_t budget_;
  std::string of_file_;
  std::atomic<std::size_t> bytes_{0}, pictures_{0}, dropped_{0};
  std::atomic<bool> full_{false}, changed_{false}, loaded_{false};
};

}  // namespace wick::detail
