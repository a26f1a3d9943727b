// A thread that is busy.
#pragma once

#include <chrono>

namespace wick_test {

/// Works until a steady clock says that so much time has passed.
inline void work_for(std::chrono::nanoseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
  }
}

}  // namespace wick_test
