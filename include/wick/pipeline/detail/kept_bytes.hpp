// The part of a budget that workers keep ready, so that taking a few bytes and giving them back isn't a
// matter between workers.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>

#include <wick/base/detail/futex.hpp>
#include <wick/base/detail/owned.hpp>

namespace wick::inline v0_1::detail {

/// Each slot has one thread at a time; it takes bytes from its own place, and puts them there. collect() is
/// called under the budget's mutex when a request needs the bytes that are kept: from then on, no thread
/// keeps any until allow(). Either collect() finds the bytes that a thread puts into its place, or the thread
/// finds that they are wanted, and gives them back itself: both change the place, and whichever comes second
/// sees what the other did before. Nothing is kept before the first allow().
template <class Atomics = std_atomics>
class basic_kept_bytes {
 public:
  /// \throws std::bad_alloc
  basic_kept_bytes(std::size_t slots, std::size_t most_each)
      : slots_(slots), most_each_(most_each), places_(slots) {}

  /// Takes bytes from a slot's place, if it has that many.
  bool take(std::size_t slot, std::size_t bytes) noexcept {
    if (!allowed_.load(std::memory_order_relaxed)) return false;
    auto& mine = places_[slot].bytes;
    std::size_t there = mine.load(std::memory_order_relaxed);
    while (there >= bytes) {
      if (mine.compare_exchange_weak(there, there - bytes, std::memory_order_relaxed)) return true;
    }
    return false;
  }
  /// Puts bytes into a slot's place. Returns the bytes that the caller gives back to the budget instead: all
  /// of them, or more. 0: they are kept, or collect() has taken them.
  std::size_t keep(std::size_t slot, std::size_t bytes) noexcept {
    if (!allowed_.load(std::memory_order_relaxed)) return bytes;
    auto& mine = places_[slot].bytes;
    if (bytes > most_each_ - mine.load(std::memory_order_relaxed)) return bytes;
    mine.fetch_add(bytes, std::memory_order_acquire);
    return allowed_.load(std::memory_order_relaxed) ? 0 : mine.exchange(0, std::memory_order_relaxed);
  }

  // ---- under the budget's mutex ----

  /// The bytes that a thread may take in addition and keep, when it has to take `bytes` from the budget
  /// anyway. None if it would soon have to do so again.
  std::size_t more_for(std::size_t slot, std::size_t bytes) const noexcept {
    const std::size_t wanted = most_each_ / 2, there = places_[slot].bytes.load(std::memory_order_relaxed);
    return allowed() && bytes <= wanted / 4 && there < wanted ? wanted - there : 0;
  }
  /// Adds them.
  void add(std::size_t slot, std::size_t bytes) noexcept {
    places_[slot].bytes.fetch_add(bytes, std::memory_order_relaxed);
  }
  /// Takes all that is kept. From now on nothing is.
  std::size_t collect() noexcept {
    if (!allowed_.load(std::memory_order_relaxed)) return 0;
    allowed_.store(false, std::memory_order_relaxed);
    std::size_t sum = 0;
    for (std::size_t i = 0; i < slots_; ++i) sum += places_[i].bytes.exchange(0, std::memory_order_release);
    return sum;
  }
  void allow() noexcept { allowed_.store(slots_ != 0, std::memory_order_relaxed); }

  // ---- any thread ----

  bool allowed() const noexcept { return allowed_.load(std::memory_order_relaxed); }
  std::size_t sum() const noexcept {
    std::size_t sum = 0;
    for (std::size_t i = 0; i < slots_; ++i) sum += places_[i].bytes.load(std::memory_order_relaxed);
    return sum;
  }

 private:
  struct alignas(64) place {
    typename Atomics::template atomic<std::size_t> bytes{0};
  };
  const std::size_t slots_, most_each_;
  typename Atomics::template atomic<bool> allowed_{false};
  owned<place[]> places_;
};

using kept_bytes = basic_kept_bytes<>;

}  // namespace wick::detail
