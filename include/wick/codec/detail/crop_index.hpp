/// \file
/// Where MCUs of JPEGs begin, kept from epoch to epoch, so that a crop is decoded from near its own start on.
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

/// The places of many pictures, each under a hash of all its bytes. Any thread may call it. Nothing is ever
/// removed for want of room: an epoch takes each picture once, and the one that was not looked at for longest
/// is the next that is wanted.
class crop_index : public decoder_notes {
 public:
  /// \param budget bytes
  explicit crop_index(std::size_t budget) noexcept : budget_(budget) {}
  crop_index(const crop_index&) = delete;
  crop_index& operator=(const crop_index&) = delete;

  /// Of all bytes of a file, about 20 GB/s.
  static std::uint64_t key_of(std::span<const std::byte> encoded) noexcept;

  /// Whether this file's places may be kept here, or could be. Looks at some of its bytes only: where there
  /// is room for no more files, those that are not in here should cost nothing.
  bool may_have(std::span<const std::byte> encoded) noexcept;
  /// Gives the walk what is known of this file. It notes more places as long as there is room for them.
  /// \throws wrong_jpeg_place when the entry is damaged
  void begin(std::uint64_t key, jpeg_walk& walk);
  /// Keeps what the walk has noted, as far as there is memory.
  void end(std::uint64_t key, const jpeg_walk& walk) noexcept;
  /// Forgets a file, of which a place was wrong.
  void drop(std::uint64_t key) noexcept;

  /// Keeps these places, whatever they are, of a file that has `total`.
  void keep(std::uint64_t key, std::span<const jpeg_place> places, std::size_t total);

  /// All entries as bytes, in the machine's byte order, with their checksum.
  std::vector<std::byte> saved();
  /// Takes over the entries of saved(), as far as there is room for them. False when the bytes are not such:
  /// of another length or checksum.
  bool load(std::span<const std::byte> saved);
  /// Whether there is something that was neither saved nor loaded.
  bool changed() const noexcept { return changed_.load(std::memory_order_relaxed); }

  std::size_t pictures() const noexcept { return pictures_.load(std::memory_order_relaxed); }
  std::size_t bytes() const noexcept { return bytes_.load(std::memory_order_relaxed); }
  std::size_t dropped() const noexcept { return dropped_.load(std::memory_order_relaxed); }
  bool full() const noexcept { return full_.load(std::memory_order_relaxed); }
  /// For note(), before another thread knows this.
  void say_of_file(std::string what) { of_file_ = std::move(what); }
  /// For the report: a file that could not be used, entries that were wrong, and a budget that is too small.
  /// Empty when there is none of these.
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
      seen_{};  // a bit for what may_have() saw while there was room
  const std::size_t budget_;
  std::string of_file_;
  std::atomic<std::size_t> bytes_{0}, pictures_{0}, dropped_{0};
  std::atomic<bool> full_{false}, changed_{false}, loaded_{false};
};

}  // namespace wick::detail
