// Locks a mutex that is never held for long.
#pragma once

#include <mutex>

#include <wick/base/detail/futex.hpp>

namespace wick::inline v0_1::detail {

/// Spins for a few microseconds before it sleeps. A std::mutex sleeps at once, and a wake-up takes a hundred
/// times as long as the few instructions under the lock. So two threads that both lock one for each small
/// batch would spend their time waking each other, again and again. Always inlined: if all definitions are in
/// one translation unit, gcc's choice depends on what else is in it.
template <class Mutex>
[[nodiscard, gnu::always_inline]] inline std::unique_lock<Mutex> lock_briefly(Mutex& mutex) {
  constexpr int tries = 100;
  for (int i = 0; i < tries; ++i) {
    if (mutex.try_lock()) return std::unique_lock<Mutex>(mutex, std::adopt_lock);
    spin_pause();
  }
  return std::unique_lock<Mutex>(mutex);
}

}  // namespace wick::detail
