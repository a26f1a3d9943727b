/// \file
/// Memory for what is large and soon dropped: the bytes of files, pixels. Pages that were dropped are used
/// again, since a page that is new costs more than what is written to it, and only so many are kept.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include <wick/system/detail/address_sanitizer.hpp>

namespace wick::detail {

/// What is taken from large_memory: a few pages at least. Less is malloc()'s.
inline constexpr std::size_t least_large_bytes = std::size_t{64} << 10;

/// Elsewhere than on Linux, giving pages back means something else.
#if defined(__linux__)
inline constexpr bool has_large_memory = !address_sanitized;
#else
inline constexpr bool has_large_memory = false;
#endif

/// A general allocator keeps what is freed, in an area for each thread, as much as was ever in use there at a
/// time, and who bounds what is in use bounds nothing; or it gives all back to the kernel, and each block
/// costs its pages anew. This one gives out runs of pages, joins neighbors that are free, and knows which of
/// these are resident: up to so many bytes as are allowed, in use and free together, they stay, and what is beyond that
/// goes back to the kernel.
///
/// Free runs are found by "two-level segregated fit" (Masmano et al., 2004): lists of runs of like length, in
/// constant time. Any thread; not in the child of a fork that another thread has made in mid-call.
class large_memory {
 public:
  struct figures {
    std::size_t used = 0;     ///< bytes that are out
    std::size_t kept = 0;     ///< bytes that are free, and resident
    std::size_t allowed = 0;  ///< what both may take before what is free goes back
  };

  large_memory() noexcept;
  large_memory(const large_memory&) = delete;
  large_memory& operator=(const large_memory&) = delete;
  /// All must have been released.
  ~large_memory();
  /// The process's, which is never destroyed.
  static large_memory& shared() noexcept;

  /// Aligned to 64 bytes, not initialized. Null when there is no memory.
  void* allocate(std::size_t bytes) noexcept;
  void release(void* data) noexcept;
  /// So many bytes more may stay resident.
  void allow(std::size_t bytes) noexcept;
  void allow_no_more(std::size_t bytes) noexcept;
  figures now() const noexcept;

 private:
  struct extent;
  struct extent_group;
  struct chunk;
  /// Free runs by their length: bins for a fourth of a doubling each.
  class bins {
   public:
    void add(extent* e) noexcept;
    void remove(extent* e) noexcept;
    /// A short one of those that have so many pages; null: none has.
    extent* at_least(std::size_t pages) const noexcept;
    /// The longest, or nearly so.
    extent* longest() const noexcept;
    extent* first_of(std::size_t bin) const noexcept { return first_[bin]; }
    /// The next one that isn't empty, downwards; -1: there is none.
    int below(int bin) const noexcept;
    static constexpr std::size_t count = 192;

   private:
    static std::size_t of(std::size_t pages) noexcept {
      if (pages < 4) return pages;
      const auto log = static_cast<std::size_t>(std::bit_width(pages)) - 1;
      return 4 * (log - 1) + ((pages >> (log - 2)) & 3);
    }
    std::array<extent*, count> first_{};
    std::array<std::uint64_t, count / 64> has_{};
  };

  std::size_t allowed() const noexcept;
  extent* use(extent* e, std::size_t pages) noexcept;
  extent* take(std::size_t pages) noexcept;
  extent* gather(std::size_t pages) noexcept;
  extent* gather_around(extent* e, std::size_t pages) noexcept;
  extent* reserve(std::size_t pages) noexcept;
  bool cut(extent* e, std::size_t pages) noexcept;
  void join_above(extent* e) noexcept;
  void put(extent* e) noexcept;
  extent* excess() noexcept;
  void give_back(std::unique_lock<std::mutex>& lock) noexcept;
  bins& bins_of(const extent* e) noexcept;
  extent* spare() noexcept;
  void retire(extent* e) noexcept;

  const std::size_t page_;
  mutable std::mutex mutex_;
  bins kept_, empty_;  // free, resident or not
  extent* spares_ = nullptr;
  extent_group* groups_ = nullptr;
  chunk* chunks_ = nullptr;
  std::size_t used_pages_ = 0, kept_pages_ = 0;
  std::size_t allowed_ = 0;
};

/// What somebody who bounds what is in use lets stay resident, as long as this lives.
class large_memory_allowance {
 public:
  explicit large_memory_allowance(std::size_t bytes) noexcept
      : bytes_(bytes < most ? bytes : most) {  // no bound is a very large one
    large_memory::shared().allow(bytes_);
  }
  large_memory_allowance(const large_memory_allowance&) = delete;
  large_memory_allowance& operator=(const large_memory_allowance&) = delete;
  ~large_memory_allowance() { large_memory::shared().allow_no_more(bytes_); }

 private:
  static constexpr std::size_t most = ~std::size_t{0} >> 16;
  const std::size_t bytes_;
};

/// Memory for so many bytes, from malloc() or, from least_large_bytes on and then aligned to 64 bytes, from
/// large_memory. Null when there is none.
void* allocate_bytes(std::size_t bytes) noexcept;
/// With the same number.
void release_bytes(void* data, std::size_t bytes) noexcept;

}  // namespace wick::detail
