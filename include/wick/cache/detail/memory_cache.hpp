// Samples kept in memory, by their index in the source.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <wick/base/detail/owned.hpp>

namespace wick::inline v0_1::detail {

/// Any thread may find and add. Entries stay until the cache is destroyed. Once a sample finds no room, the
/// cache is full and keeps what it has: in a shuffled epoch, any fixed part is as good as another.
class memory_cache {
 public:
  struct entry {
    virtual ~entry() = default;
  };
  template <class T>
  struct kept final : entry {
    explicit kept(T what) : item(std::move(what)) {}
    T item;
  };

  /// \param samples  of the source
  /// \param most  bytes; by default default_cache_memory(), shared by all such caches of the process
  memory_cache(std::uint64_t samples, std::optional<std::size_t> most);
  memory_cache(const memory_cache&) = delete;
  memory_cache& operator=(const memory_cache&) = delete;
  ~memory_cache();

  /// A sample, or null. `lane` spreads counters over cache lines.
  const entry* find(std::uint64_t index, std::size_t lane) noexcept {
    const entry* const found = look(index);
    counters& mine = counters_[lane % counters_.size()];
    (found != nullptr ? mine.hits : mine.misses).fetch_add(1, std::memory_order_relaxed);
    return found;
  }
  /// Takes room for a sample, for add() or give_back(). A full cache has no more room, unless another cache
  /// that shares its limit is destroyed.
  bool reserve(std::size_t bytes) noexcept;
  void give_back(std::size_t bytes) noexcept;
  /// Keeps a sample in the room taken for it, or returns the room if another thread was first, or there is no
  /// room for the table. \throws std::bad_alloc, without returning the room
  void add(std::uint64_t index, owned<entry> sample, std::size_t bytes);

  /// A line for the report; empty before the first sample.
  std::string note() const;

 private:
  static constexpr std::uint64_t chunk_size = 4096;
  struct chunk {
    std::array<std::atomic<const entry*>, chunk_size> at{};
  };
  struct alignas(64) counters {
    std::atomic<std::uint64_t> hits{0}, misses{0};
  };

  const entry* look(std::uint64_t index) const noexcept {
    if (index >= samples_) return nullptr;
    const chunk* const c = chunks_[index / chunk_size].load(std::memory_order_acquire);
    return c == nullptr ? nullptr : c->at[index % chunk_size].load(std::memory_order_acquire);
  }
  bool take(std::size_t bytes) noexcept;

  const std::uint64_t samples_;
  const bool by_default_;
  const std::size_t most_;
  const owned<std::atomic<chunk*>[]> chunks_;
  std::atomic<std::size_t> used_{0};
  std::atomic<std::uint64_t> kept_{0};
  std::atomic<std::size_t> full_at_{0};  // bytes in use when there was no room; 0: not full
  std::array<counters, 16> counters_;
};

/// This rank's share of a quarter of the memory: the machine's, or less if a control group limits it.
std::uint64_t default_cache_memory();

}  // namespace wick::detail
