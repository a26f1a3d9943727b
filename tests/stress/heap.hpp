// What operator new has given and operator delete has not got back.
#pragma once

namespace wick_stress {

struct heap_state {
  long blocks = 0, bytes = 0;
};

/// Of all threads. Zero under the sanitizers, which bring operators of their own; LeakSanitizer counts
/// instead.
heap_state heap_now() noexcept;
bool heap_is_counted() noexcept;

}  // namespace wick_stress
