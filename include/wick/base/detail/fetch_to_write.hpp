/// \file
/// Asking for cache lines that are written soon.
#pragma once

#include <cstddef>

namespace wick::inline v0_1::detail {

/// Asks for the lines of an object that another processor has written and this one is about to, all at once:
/// each takes a third of a microsecond where the two share no cache, one after the other when they are waited
/// for in turn. A hint; the bytes need not be there.
inline void fetch_to_write(const void* at, std::size_t bytes) noexcept {
  const auto* const p = static_cast<const char*>(at);
  for (std::size_t offset = 0; offset < bytes; offset += 64) {
#if defined(__x86_64__)
    // What __builtin_prefetch becomes without -mprfchw asks for a copy only, and the first write then asks
    // again. Processors that don't know this instruction take it for none.
    asm volatile("prefetchw %0" : : "m"(p[offset]));
#else
    __builtin_prefetch(p + offset, 1, 3);
#endif
  }
}

}  // namespace wick::detail
