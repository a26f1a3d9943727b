// The batches that a loader is making ahead of its consumer, and how workers claim their samples.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <wick/base/detail/owned.hpp>

namespace wick::inline v0_1::detail {

/// A ring of batches, oldest first. One thread at a time opens them, in order. All workers claim runs of
/// positions, without a lock, from the oldest batch that has any left. The thread that opens a batch must
/// know that its place is free.
template <class Job>
class open_batches {
 public:
  /// The claimed run; `job` is null when nothing was left.
  struct run {
    Job* job = nullptr;
    std::uint64_t from = 0, count = 0;
  };

  /// \param make  returns a new Job, owned, at each call
  template <class Make>
  open_batches(std::size_t most, Make make) : mask_(std::bit_ceil(most) - 1) {
    ring_.reserve(mask_ + 1);
    for (std::uint64_t i = 0; i <= mask_; ++i) ring_.push_back(make());
  }

  /// The place of the batch with this sequence number.
  Job& at(std::uint64_t sequence) noexcept { return *ring_[sequence & mask_]; }

  /// The number of batches opened so far. For the thread that opens them, and those that synchronize with it.
  std::uint64_t count() const noexcept { return opened_.load(std::memory_order_relaxed); }
  /// The same, for any thread.
  std::uint64_t opened() const noexcept { return opened_.load(std::memory_order_acquire); }
  /// Lets workers claim from batch number count().
  void publish() noexcept { opened_.store(count() + 1, std::memory_order_release); }

  /// Unclaimed samples. Any thread may call it.
  std::uint64_t unclaimed() const noexcept {
    std::uint64_t samples = 0;
    const std::uint64_t opened = opened_.load(std::memory_order_acquire);
    for (std::uint64_t s = frontier_.load(std::memory_order_acquire); s < opened; ++s) {
      samples += ring_[s & mask_]->unclaimed();
    }
    return samples;
  }
  /// Whether there are more than `length` of them, judging by the two oldest batches. Any thread may call it.
  bool has_more_than(std::uint64_t length) const noexcept {
    const std::uint64_t opened = opened_.load(std::memory_order_acquire);
    const std::uint64_t s = frontier_.load(std::memory_order_acquire);
    return s + 1 < opened || (s < opened && ring_[s & mask_]->unclaimed() > length);
  }

  /// Claims up to `most` samples of the oldest batch that has any left; near its end, up to `at_end(another
  /// batch follows)`. Any thread may call it.
  template <class AtEnd>
  run claim(std::uint64_t most, AtEnd at_end) noexcept {
    for (;;) {
      const std::uint64_t s = frontier_.load(std::memory_order_acquire);
      const std::uint64_t opened = opened_.load(std::memory_order_acquire);
      if (s >= opened) return {};
      Job& j = *ring_[s & mask_];
      const auto claimed = j.claim(s, most, at_end(s + 1 < opened));
      if (claimed.count != 0) return {&j, claimed.from, claimed.count};
      std::uint64_t expected = s;
      frontier_.compare_exchange_strong(expected, s + 1, std::memory_order_acq_rel);
    }
  }

 private:
  std::vector<owned<Job>> ring_;
  const std::uint64_t mask_;
  alignas(64) std::atomic<std::uint64_t> opened_{0};
  alignas(64) std::atomic<std::uint64_t> frontier_{0};  // the oldest batch that may have unclaimed positions
};

}  // namespace wick::detail
