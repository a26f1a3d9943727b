/// \file
/// Leaving batches that are under way: another epoch was asked for, or the loader goes.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include <wick/run/stop_token.hpp>
#include <wick/system/detail/brief_lock.hpp>
#include <wick/system/detail/owned.hpp>

namespace wick::detail {

/// Unclaimed samples are not begun, the others end. For the consumer.
template <class Feed>
struct leaving {
  /// Waits for those that end. What comes afterwards is stopped by `next_stop`.
  static void drain(Feed& f, owned<stop_source> next_stop) noexcept {
    if (cancel(f)) {
      while (f.done_.taken() < f.ahead_.count()) f.done_.take()->drop();
    }
    if (!next_stop || !f.runs_.stop->stop_requested()) return;
    // The callbacks and tokens of the old source are gone with the samples that had them.
    const auto lock = lock_briefly(f.mutex_);
    f.runs_.stop = std::move(next_stop);
  }
  static bool cancel(Feed& f) noexcept {  // false when there are none
    std::uint64_t prepared;
    {
      const auto lock = lock_briefly(f.mutex_);
      prepared = f.ahead_.count();
    }
    if (f.done_.taken() == prepared) return false;
    f.runs_.stop->request_stop();
    for (std::uint64_t s = f.done_.taken(); s < prepared; ++s) {
      auto& j = f.ahead_.at(s);
      j.cancelled.store(true, std::memory_order_relaxed);
      if (s < f.ahead_.opened())
        f.finish_some(j, j.claim_rest());
      else
        f.open(false);
    }
    return true;
  }
};

}  // namespace wick::detail
