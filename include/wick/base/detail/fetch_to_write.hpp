// Prefetches cache lines that are about to be written.
#pragma once

#include <cstddef>

namespace wick::inline v0_1::detail {

/// Asks for all lines at once of an object that another processor has written and this one is about to write.
/// If the two share no cache, each line takes a third of a microsecond, and the writes would wait for one
/// after another. A hint; the bytes needn't exist.
inline void fetch_to_write(const void* at, std::size_t bytes) noexcept {
  const auto* const p = static_cast<const char*>(at);
  for (std::size_t offset = 0; offset < bytes; offset += 64) {
#if defined(__x86_64__)
    // Without -mprfchw, __builtin_prefetch asks only for a copy, and the first write then asks again.
    // Processors that don't know this instruction treat it as a no-op.
    asm volatile("prefetchw %0" : : "m"(p[offset]));
#else
    __builtin_prefetch(p + offset, 1, 3);
#endif
  }
}

}  // namespace wick::detail
