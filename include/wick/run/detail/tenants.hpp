/// \file
/// Who shares an executor's workers, and how long each of them has used them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <vector>

namespace wick::detail {

/// Any thread. A tenant counts its own time; it is asked only when somebody wants the sum.
class tenants {
 public:
  /// `ticks(who)` is how long `who` has used the workers so far; called on any thread until leave().
  void enter(const void* who, std::uint64_t (*ticks)(const void*)) {
    const std::lock_guard lock(mutex_);
    all_.push_back({who, ticks});
  }
  void leave(const void* who) noexcept {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(all_.begin(), all_.end(), [&](const tenant& t) { return t.who == who; });
    if (found == all_.end()) return;
    gone_ += found->ticks(who);
    all_.erase(found);
  }
  /// Of all that there are and were, without `who`.
  std::uint64_t ticks_of_others(const void* who) const {
    const std::lock_guard lock(mutex_);
    std::uint64_t sum = gone_;
    for (const tenant& t : all_) {
      if (t.who != who) sum += t.ticks(t.who);
    }
    return sum;
  }

 private:
  struct tenant {
    const void* who;
    std::uint64_t (*ticks)(const void*);
  };
  mutable std::mutex mutex_;
  std::vector<tenant> all_;
  std::uint64_t gone_ = 0;
};

}  // namespace wick::detail
