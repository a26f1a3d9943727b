// Limits how many samples may be in flight when samples suspend.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace wick::inline v0_1::detail {

/// Many threads take tokens at once, and none waits for one: a thread that finds none leaves. give() returns
/// true if there were none before, so that its caller can bring in another thread. Any thread. The limit may
/// change; tokens that are taken stay taken if it falls.
class tokens {
 public:
  explicit tokens(std::uint64_t limit) noexcept : limit_(limit) {}
  /// The limit of a loader whose options don't set one.
  static std::size_t limit_for(std::size_t workers, std::size_t io_threads) noexcept {
    return 4 * workers + 2 * io_threads + 16;
  }

  /// Takes up to `most` of the tokens that are left.
  std::uint64_t take(std::uint64_t most) noexcept {
    std::uint64_t taken = taken_.load(std::memory_order_acquire);
    for (;;) {
      const std::uint64_t limit = this->limit();
      const std::uint64_t n = limit > taken ? std::min(most, limit - taken) : 0;
      if (n == 0 || taken_.compare_exchange_weak(taken, taken + n, std::memory_order_acq_rel,
                                                 std::memory_order_acquire)) {
        return n;
      }
    }
  }
  /// Gives `n` tokens back. Returns true if none were left before and some are now.
  bool give(std::uint64_t n) noexcept {
    const std::uint64_t taken = taken_.fetch_sub(n, std::memory_order_acq_rel), limit = this->limit();
    return taken >= limit && taken - n < limit;
  }
  std::uint64_t limit() const noexcept { return limit_.load(std::memory_order_relaxed); }
  void set_limit(std::uint64_t limit) noexcept {
    if (limit != this->limit()) limit_.store(limit, std::memory_order_relaxed);
  }
  std::uint64_t taken() const noexcept { return taken_.load(std::memory_order_relaxed); }
  bool any() const noexcept { return taken_.load(std::memory_order_acquire) < limit(); }

 private:
  std::atomic<std::uint64_t> limit_;
  alignas(64) std::atomic<std::uint64_t> taken_{0};
};

}  // namespace wick::detail
