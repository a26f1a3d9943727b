/// \file
/// Samples that are known to take much longer than the others.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

namespace wick::detail {

/// Indexes of samples that took long when they were made last. Any thread, without a lock: a table of fixed
/// size in which an index stays where it was put. When it is half full no more are learned, since a tenth of
/// a data set is no exception.
class slow_samples {
 public:
  /// A sample took so many ticks, the others `mean`.
  void learn(std::uint64_t index, std::uint64_t ticks, std::uint64_t mean) noexcept {
    if (ticks > least_ticks && ticks / times > mean) add(index);
  }
  bool any() const noexcept { return count_.load(std::memory_order_relaxed) != 0; }
  bool has(std::uint64_t index) const noexcept {
    const std::atomic<std::uint64_t>* const table = table_.load(std::memory_order_acquire);
    if (table == nullptr) return false;
    for (std::size_t i = place_of(index);; i = (i + 1) % places) {
      const std::uint64_t there = table[i].load(std::memory_order_relaxed);
      if (there == 0) return false;
      if (there == index + 1) return true;
    }
  }
  slow_samples() noexcept = default;
  slow_samples(const slow_samples&) = delete;
  slow_samples& operator=(const slow_samples&) = delete;
  ~slow_samples() { delete[] table_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::uint64_t times = 16;
  static constexpr std::uint64_t least_ticks = 12'000'000;  // 5 ms: more than a thread is without a processor
  static constexpr std::size_t places = 1 << 16;

  static std::size_t place_of(std::uint64_t index) noexcept {
    return static_cast<std::size_t>((index * 0x9E3779B97F4A7C15) >> 48) % places;
  }
  [[gnu::noinline]] void add(std::uint64_t index) noexcept {
    std::atomic<std::uint64_t>* table = table_.load(std::memory_order_acquire);
    if (table == nullptr) {
      table = new (std::nothrow) std::atomic<std::uint64_t>[places]();
      if (table == nullptr) return;
      std::atomic<std::uint64_t>* other = nullptr;
      if (!table_.compare_exchange_strong(other, table, std::memory_order_acq_rel)) {
        delete[] table;
        table = other;
      }
    }
    if (count_.load(std::memory_order_relaxed) >= places / 2) return;
    for (std::size_t i = place_of(index);; i = (i + 1) % places) {
      std::uint64_t there = 0;
      if (table[i].compare_exchange_strong(there, index + 1, std::memory_order_relaxed)) {
        count_.fetch_add(1, std::memory_order_relaxed);
        return;
      }
      if (there == index + 1) return;
    }
  }

  std::atomic<std::atomic<std::uint64_t>*> table_{nullptr};
  std::atomic<std::size_t> count_{0};
};

}  // namespace wick::detail
