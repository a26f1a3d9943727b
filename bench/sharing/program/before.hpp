// Included before each file that the machine runs: it has its own clock and its own prefetching.
#pragma once

#include <cstddef>

extern "C" unsigned long long sharing_ticks() noexcept;
extern "C" void sharing_fetch(const volatile void* at, int to_write) noexcept;
inline void sharing_prefetch(const volatile void* at, int to_write = 0, int = 3) noexcept {
  sharing_fetch(at, to_write);
}
#define __builtin_ia32_rdtsc sharing_ticks
#define __builtin_prefetch(...) sharing_prefetch(__VA_ARGS__)
