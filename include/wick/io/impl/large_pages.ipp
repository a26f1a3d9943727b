// Implements io/detail/large_pages.hpp. Included in exactly one file of a program.
#pragma once

#include <cstdint>
#include <sys/mman.h>

#include <wick/io/detail/large_pages.hpp>

namespace wick::inline v0_1::detail {

void in_large_pages([[maybe_unused]] void* first, [[maybe_unused]] std::size_t size) noexcept {
#ifdef MADV_HUGEPAGE
  constexpr std::uintptr_t page = 4096;
  const std::uintptr_t begin = (reinterpret_cast<std::uintptr_t>(first) + page - 1) / page * page;
  const std::uintptr_t end = reinterpret_cast<std::uintptr_t>(first) + size;
  if (end > begin + (std::uintptr_t{4} << 20))
    ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#endif
}

}  // namespace wick::detail
