// Limits how many samples may be in flight when samples suspend.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace wick::inline v0_1::detail {

/// Many threads take tokens at once, and none waits for one: a thread that finds none leaves. give() returns
/// true if there were none before, so that its caller can bring in another thread. Any thread. The limit may
/// change; tokens that are taken stay taken if it falls. take_owed() may exceed the limit, and an owed token
/// may be given back before it is taken: until then, the count is too low, perhaps below 0.
class tokens {
 public:
  explicit tokens(std::uint64_t limit) noexcept : limit_(limit) {}
  /// The limit of a loader whose options don't set one: enough for all workers and I/O threads, and, of 50 ms
  /// a sample, for 5,000 samples a second.
  static std::size_t limit_for(std::size_t workers, std::size_t io_threads) noexcept {
    return std::max<std::size_t>(4 * workers + 2 * io_threads + 16, 256);
  }

  /// Takes up to `most` of the tokens that are left.
  std::uint64_t take(std::uint64_t most) noexcept {
    std::int64_t taken = taken_.load(std::memory_order_acquire);
    for (;;) {
      const std::uint64_t n = std::min(most, left(taken));
      if (n == 0 || taken_.compare_exchange_weak(taken, taken + static_cast<std::int64_t>(n),
                                                 std::memory_order_acq_rel, std::memory_order_acquire)) {
        return n;
      }
    }
  }
  /// Takes `n` tokens even if fewer are left; some of them may have been given back already.
  void take_owed(std::uint64_t n) noexcept {
    taken_.fetch_add(static_cast<std::int64_t>(n), std::memory_order_acq_rel);
  }
  /// Gives `n` tokens back. Returns true if none were left before and some are now.
  bool give(std::uint64_t n) noexcept {
    const auto given = static_cast<std::int64_t>(n);
    const std::int64_t taken = taken_.fetch_sub(given, std::memory_order_acq_rel);
    return left(taken) == 0 && left(taken - given) != 0;
  }
  std::uint64_t limit() const noexcept { return limit_.load(std::memory_order_relaxed); }
  void set_limit(std::uint64_t limit) noexcept {
    if (limit != this->limit()) limit_.store(limit, std::memory_order_relaxed);
  }
  std::uint64_t taken() const noexcept {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(taken_.load(std::memory_order_relaxed), 0));
  }
  bool any() const noexcept { return left(taken_.load(std::memory_order_acquire)) != 0; }

 private:
  std::uint64_t left(std::int64_t taken) const noexcept {
    const std::uint64_t limit = this->limit(),
                        used = static_cast<std::uint64_t>(std::max<std::int64_t>(taken, 0));
    return limit > used ? limit - used : 0;
  }

  std::atomic<std::uint64_t> limit_;
  alignas(64) std::atomic<std::int64_t> taken_{0};  // below 0 while some are given that are owed
};

}  // namespace wick::detail
