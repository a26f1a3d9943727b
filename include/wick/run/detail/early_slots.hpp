/// \file
/// Places in batches that may be begun before their turn.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace wick::detail {

/// Slots of batches whose turn has not come, oldest first. Any thread.
class early_slots {
 public:
  struct one {
    std::uint64_t sequence, slot;
  };
  /// \throws std::bad_alloc, and then nothing was added
  void add(std::uint64_t sequence, const std::vector<std::size_t>& slots) {
    const std::lock_guard lock(mutex_);
    all_.reserve(all_.size() + slots.size());
    for (const std::size_t s : slots) all_.push_back({sequence, s});
    count_.store(all_.size() - taken_, std::memory_order_relaxed);
  }
  std::size_t size() const noexcept { return count_.load(std::memory_order_relaxed); }
  /// Those of one batch that nobody took, its last ones: nobody takes them any more.
  std::size_t leave_out(std::uint64_t sequence) noexcept {
    if (size() == 0) return 0;
    const std::lock_guard lock(mutex_);
    const auto first = all_.begin() + static_cast<std::ptrdiff_t>(taken_);
    const auto rest = std::remove_if(first, all_.end(), [&](const one& o) { return o.sequence == sequence; });
    const auto gone = static_cast<std::size_t>(all_.end() - rest);
    all_.erase(rest, all_.end());
    count_.store(all_.size() - taken_, std::memory_order_relaxed);
    return gone;
  }
  /// False when there is none.
  bool take(one& out) noexcept {
    if (size() == 0) return false;
    const std::lock_guard lock(mutex_);
    if (taken_ == all_.size()) return false;
    out = all_[taken_++];
    if (taken_ == all_.size()) {
      all_.clear();
      taken_ = 0;
    }
    count_.store(all_.size() - taken_, std::memory_order_relaxed);
    return true;
  }

 private:
  std::mutex mutex_;
  std::vector<one> all_;
  std::size_t taken_ = 0;
  std::atomic<std::size_t> count_{0};
};

}  // namespace wick::detail
