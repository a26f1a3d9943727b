// Work of a known length, for stages of made-up pipelines.
#pragma once

#include <ctime>

namespace wick_bench {

/// Takes so many microseconds of a processor.
inline void work(double microseconds) {
  const auto now = [] {
    std::timespec t{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) * 1e-3;
  };
  for (const double end = now() + microseconds; now() < end;) {
    for (int i = 0; i < 100; ++i) asm volatile("");
  }
}

}  // namespace wick_bench
