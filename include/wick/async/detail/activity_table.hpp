// The activities of a batch's samples, by slot, for a thread that inspects all of them while they end.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>

#include <wick/async/detail/activity.hpp>
#include <wick/base/detail/owned.hpp>

namespace wick::inline v0_1::detail {

/// begin() and end() cost a store and an exchange. Without room, nothing is recorded.
class activity_table {
 public:
  /// Call before the first begin(). \throws std::bad_alloc
  void make_room(std::size_t count) {
    if (count <= room_) return;
    at_ = owned<std::atomic<const activity*>[]>(count);
    room_ = count;
  }
  void begin(std::size_t i, const activity* a) noexcept {
    if (i < room_) at_[i].store(a, std::memory_order_release);
  }
  /// After this, no thread looks at the activity.
  void end(std::size_t i) noexcept {
    // This exchange and load, and the store and load in each(), are in one total order, so one side sees the
    // other's write.
    if (i >= room_ || at_[i].exchange(nullptr) == nullptr || !looks_.load()) return;
    const std::lock_guard until_it_has_looked(mutex_);
  }
  /// Calls `look(i, activity)` for each activity that has begun; it can't end meanwhile. Any thread.
  template <class Look>
  void each(Look look) {
    const std::lock_guard lock(mutex_);
    looks_.store(true);
    for (std::size_t i = 0; i < room_; ++i) {
      if (const activity* const a = at_[i].load()) look(i, *a);
    }
    looks_.store(false);
  }

 private:
  owned<std::atomic<const activity*>[]> at_;
  std::size_t room_ = 0;
  std::atomic<bool> looks_{false};
  std::mutex mutex_;
};

}  // namespace wick::detail
