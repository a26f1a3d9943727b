// A worker's own queue: the worker pushes jobs; it and the others take the oldest.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <wick/base/detail/futex.hpp>
#include <wick/base/detail/owned.hpp>

namespace wick::inline v0_1::detail {

/// A bounded FIFO ring of pointers with one producer and many consumers, lock-free. Oldest first, because
/// batches leave in order and the oldest sample holds up all others.
///
/// push: only the owner. pop, pop_half, empty, size: any thread. The owner's writes before push are visible
/// to the thread that pops. The queue doesn't own its items; it must be empty (or its items accounted for
/// elsewhere) when it is destroyed.
template <class T, class Atomics = detail::std_atomics>
class steal_queue {
  template <class V>
  using atomic = typename Atomics::template atomic<V>;

 public:
  /// \param capacity rounded up to a power of two
  explicit steal_queue(std::size_t capacity)
      : mask_(std::bit_ceil(capacity < 1 ? std::size_t{1} : capacity) - 1), items_(mask_ + 1) {}

  std::size_t capacity() const noexcept { return mask_ + 1; }

  /// False when full.
  bool push(T* item) noexcept {
    const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    // acquire: a consumer's read of the item is over before its slot is written again
    if (tail - head_.load(std::memory_order_acquire) > mask_) return false;
    items_[tail & mask_].store(item, std::memory_order_relaxed);
    tail_.store(tail + 1, std::memory_order_release);  // publishes the item and what it points to
    return true;
  }

  /// The oldest item, or null if there is none.
  T* pop() noexcept {
    T* item;
    return pop_half(&item, 1) != 0 ? item : nullptr;
  }
  /// Takes the oldest items into `to`: half of those present, rounded up, at most `most`. Returns how many;
  /// the elements of `to` after them may be overwritten.
  std::size_t pop_half(T** to, std::size_t most) noexcept {
    // A stale head does no harm: the exchange below fails then and loads the new one.
    std::uint64_t head = head_.load(std::memory_order_relaxed);
    for (;;) {
      // acquire: sees the items up to this tail, and what they point to
      const std::uint64_t tail = tail_.load(std::memory_order_acquire);
      if (head >= tail) return 0;
      const std::uint64_t n = most == 1 ? 1 : std::min<std::uint64_t>((tail - head + 1) / 2, most);
      for (std::uint64_t i = 0; i < n; ++i)
        to[i] = items_[(head + i) & mask_].load(std::memory_order_relaxed);
      // release: the reads above are over before the producer may see the slots as free.
      // On failure, another thread took some, and `head` is the new one: 64 bits never wrap around.
      if (head_.compare_exchange_weak(head, head + n, std::memory_order_release, std::memory_order_relaxed)) {
        return static_cast<std::size_t>(n);
      }
    }
  }

  bool empty() const noexcept {
    return head_.load(std::memory_order_acquire) >= tail_.load(std::memory_order_acquire);
  }
  /// A snapshot; while others push and pop, it may be off by what they did meanwhile.
  std::size_t size() const noexcept {
    const std::uint64_t head = head_.load(std::memory_order_acquire),
                        tail = tail_.load(std::memory_order_acquire);
    return tail > head ? static_cast<std::size_t>(tail - head) : 0;
  }

 private:
  const std::size_t mask_;
  const owned<atomic<T*>[]> items_;
  alignas(64) atomic<std::uint64_t> head_{0};
  alignas(64) atomic<std::uint64_t> tail_{0};
};

}  // namespace wick::detail
