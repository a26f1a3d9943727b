/// \file
/// One batch in the making: which positions are still to be claimed, how many are unfinished, what went wrong.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <vector>

namespace wick::detail {

struct failure {
  std::uint64_t slot;
  std::uint32_t stage;
  std::exception_ptr cause;
};

/// A place in the loader's ring, used for one batch after another. `Order` is the epoch's position functions,
/// `Columns` where samples are put, `Value` what leaves.
template <class Order, class Columns, class Value>
struct alignas(64) batch_job {
  // How many positions nobody has claimed, and above them which batch's they are (its sequence, as far as it fits): a
  // worker that comes late, with the ring gone round meanwhile, finds nothing to claim rather than the newest batch's.
  // The fields below are read only after a claim succeeded, and stay until all claimed samples are finished.
  std::atomic<std::uint64_t> left{0};
  alignas(64) std::atomic<std::uint64_t> unfinished{0};

  std::uint64_t sequence = 0;  // number since the loader began
  std::uint64_t epoch = 0;
  std::uint64_t number = 0;  // in its epoch
  std::uint64_t first = 0;   // position of slot 0
  std::uint64_t count = 0;
  Order order;
  Columns columns;
  std::optional<Value> value;
  std::atomic<bool> cancelled{false};
  std::mutex mutex;
  std::vector<failure> failures;

  struct run {
    std::uint64_t from = 0, count = 0;
  };
  /// `count` slots of batch `sequence` may be claimed from now on.
  void offer() noexcept { left.store(tag_of(sequence) | count, std::memory_order_release); }
  /// Slots that nobody has claimed.
  std::uint64_t unclaimed() const noexcept { return left.load(std::memory_order_acquire) & count_mask; }
  /// Up to `most` slots of batch `of` that nobody else has.
  run claim(std::uint64_t of, std::uint64_t most) noexcept {
    std::uint64_t seen = left.load(std::memory_order_acquire);
    while ((seen & count_mask) != 0 && (seen & ~count_mask) == tag_of(of)) {
      const std::uint64_t n = std::min(seen & count_mask, most);
      if (left.compare_exchange_weak(seen, seen - n, std::memory_order_acq_rel, std::memory_order_acquire)) {
        return {count - (seen & count_mask), n};
      }
    }
    return {};
  }
  /// All that nobody has claimed; how many they were.
  std::uint64_t claim_rest() noexcept { return left.exchange(0, std::memory_order_acq_rel) & count_mask; }

  void fail(std::uint64_t slot, std::uint32_t stage, std::exception_ptr cause) {
    std::lock_guard lock(mutex);
    failures.push_back({slot, stage, std::move(cause)});
  }

 private:
  static constexpr unsigned count_bits = 40;
  static constexpr std::uint64_t count_mask = (std::uint64_t{1} << count_bits) - 1;
  static constexpr std::uint64_t tag_of(std::uint64_t of) noexcept { return of << count_bits; }
};

}  // namespace wick::detail
