// Waits that give up instead of hanging, and say where.
#pragma once

#include <chrono>
#include <cstdio>
#include <thread>

namespace wick_test {

/// How long a test waits for what must happen. Only a failing test ever waits so long.
inline constexpr std::chrono::seconds patience{60};

/// Looks again and again, giving way to others, until `holds()` does. False when it took longer than a test's
/// patience: REQUIRE(eventually(…)), or the code after it may wait without an end.
template <class Predicate>
[[nodiscard]] bool eventually(Predicate holds, const char* file = __builtin_FILE(),
                              int line = __builtin_LINE()) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) {
      std::fprintf(stderr, "%s:%d: gave up waiting after %lld s\n", file, line,
                   static_cast<long long>(patience.count()));
      return false;
    }
    std::this_thread::yield();
  }
  return true;
}

}  // namespace wick_test
