// How many batches to keep ahead of the consumer while samples wait for servers, disks, and timers.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace wick::inline v0_1::detail {

/// Doubles the number of batches while at least half of their samples are under way at a time, and halves it
/// when fewer than an eighth are. A change is decided after as many batches as are ahead, by the most samples
/// that were under way meanwhile: samples that began together end together.
class wait_window {
 public:
  /// The batches that hold `samples`, with `more` of them. `slots`: samples in a batch.
  static std::size_t batches_for(std::uint64_t samples, std::uint64_t slots, std::size_t more) noexcept {
    slots = std::max<std::uint64_t>(slots, 1);
    return static_cast<std::size_t>((samples + slots - 1) / slots) + more;
  }

  /// The consumer has taken a batch, when the batches ahead had `samples`, of which `under_way` were begun
  /// and not ended. `usual`: the batches ahead when few are; `most`: what memory allows.
  void took(std::uint64_t under_way, std::uint64_t samples, std::size_t usual, std::size_t most) noexcept {
    most_under_way_ = std::max(most_under_way_, under_way);
    most_samples_ = std::max(most_samples_, samples);
    const std::size_t now = batches(usual, most);
    if (++taken_ < now) return;
    if (most_under_way_ != 0 && 2 * most_under_way_ >= most_samples_)
      set(std::min(2 * now, std::max(usual, most)));
    else if (8 * most_under_way_ < most_samples_)
      set(now / 2);
    taken_ = 0;
    most_under_way_ = most_samples_ = 0;
  }
  /// Any thread may call it.
  std::size_t batches(std::size_t usual, std::size_t most) const noexcept {
    return std::max(usual, std::min(most, batches_.load(std::memory_order_relaxed)));
  }

 private:
  void set(std::size_t n) noexcept {
    if (n != batches_.load(std::memory_order_relaxed)) batches_.store(n, std::memory_order_relaxed);
  }

  std::atomic<std::size_t> batches_{0};
  std::size_t taken_ = 0;  // since the last decision, as are the next
  std::uint64_t most_under_way_ = 0, most_samples_ = 0;
};

}  // namespace wick::detail
