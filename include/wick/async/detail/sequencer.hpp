// The reorder ring: items are finished in any order and taken in order.
#pragma once

#include <atomic>
#include <bit>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <wick/async/executor.hpp>
#include <wick/base/detail/duration.hpp>
#include <wick/base/detail/futex.hpp>

namespace wick::inline v0_1::detail {

/// Items numbered 0, 1, 2, … are published once each by any thread and taken in order by one consumer. At
/// most `capacity` numbers may be in flight at a time: the code that hands them out must ensure that (taken()
/// + capacity).
///
/// Writes before publish are visible to the consumer. The code that hands out numbers must make the
/// consumer's writes before it took a number visible to the publisher of the number `capacity` later. The
/// consumer may move between threads if something orders its calls, as awaiting does. The sequencer doesn't
/// own the items; they must not be null.
///
/// Each slot is one word: empty, "the consumer waits here", or the item. Publishing is one exchange that also
/// tells whether the consumer must be woken; it doesn't touch the sequencer after that, so the consumer may
/// destroy it as soon as it has the last item.
template <class T, class Atomics = detail::std_atomics, class Executor = executor>
class sequencer {
  using slot = typename Atomics::template atomic<std::uintptr_t>;

 public:
  explicit sequencer(std::size_t capacity)
      : mask_(std::bit_ceil(capacity < 1 ? std::size_t{1} : capacity) - 1), slots_(new slot[mask_ + 1]()) {}

  std::size_t capacity() const noexcept { return mask_ + 1; }

  /// Any thread, once per number.
  void publish(std::uint64_t number, T* item) noexcept {
    const std::uintptr_t before =
        slots_[number & mask_].exchange(reinterpret_cast<std::uintptr_t>(item), std::memory_order_acq_rel);
    if (before == empty) return;
    // The consumer waits for exactly this number, and stays until it is woken.
    if (before == waits_asleep)
      awake_.set();
    else
      reinterpret_cast<awaiter*>(before & ~std::uintptr_t{1})->wake();
  }

  /// The next number to take. Consumer.
  std::uint64_t taken() const noexcept { return next_; }

  /// The next item, or null if it isn't there. Consumer.
  T* try_take() noexcept {
    slot& place = slots_[next_ & mask_];
    const std::uintptr_t item = place.load(std::memory_order_acquire);
    if (item == empty) return nullptr;
    place.store(empty, std::memory_order_relaxed);
    ++next_;
    return reinterpret_cast<T*>(item);
  }

  /// Sleeps until the next item is there. Consumer; not on a worker.
  T* take() noexcept {
    std::uintptr_t seen = empty;
    awake_.clear();
    if (slots_[next_ & mask_].compare_exchange_strong(seen, waits_asleep, std::memory_order_acq_rel))
      awake_.wait();
    return try_take();
  }

  /// The same for at most `most`; it may return early. Null if the item isn't there by then.
  T* take_for(std::chrono::nanoseconds most) noexcept {
    slot& place = slots_[next_ & mask_];
    std::uintptr_t seen = empty;
    awake_.clear();
    if (place.compare_exchange_strong(seen, waits_asleep, std::memory_order_release,
                                      std::memory_order_relaxed) &&
        !awake_.wait_for(most)) {
      seen = waits_asleep;
      if (place.compare_exchange_strong(seen, empty, std::memory_order_relaxed)) return nullptr;
      awake_.wait();  // it was published meanwhile, and the publisher sets the flag
    }
    return try_take();
  }

  /// `T* item = co_await s.next(on);` Consumer; continues on `on`.
  class [[nodiscard]] awaiter : job {
   public:
    awaiter(sequencer& s, Executor& on) noexcept : sequencer_(s), on_(on) {}
    bool await_ready() const noexcept {
      return sequencer_.slots_[sequencer_.next_ & sequencer_.mask_].load(std::memory_order_acquire) != empty;
    }
    [[gnu::noinline]] bool await_suspend(std::coroutine_handle<> handle) noexcept {
      handle_ = handle;
      execute = [](job* j) noexcept { detail::resume(static_cast<awaiter*>(j)->handle_); };
      std::uintptr_t seen = empty;
      return sequencer_.slots_[sequencer_.next_ & sequencer_.mask_].compare_exchange_strong(
          seen, reinterpret_cast<std::uintptr_t>(this) | 1, std::memory_order_acq_rel);
    }
    T* await_resume() noexcept { return sequencer_.try_take(); }

   private:
    friend class sequencer;
    void wake() noexcept { on_.post(this); }
    sequencer& sequencer_;
    Executor& on_;
    std::coroutine_handle<> handle_;
  };
  awaiter next(Executor& on) noexcept { return awaiter(*this, on); }

 private:
  static_assert(alignof(T) > 1 && alignof(awaiter) > 1, "wick: the lowest bit of a pointer must be free");
  static constexpr std::uintptr_t empty = 0,
                                  waits_asleep = 1;  // or an awaiter's address with the lowest bit set

  const std::size_t mask_;
  const std::unique_ptr<slot[]> slots_;
  std::uint64_t next_ = 0;
  detail::basic_wake_flag<Atomics> awake_;
};

}  // namespace wick::detail
