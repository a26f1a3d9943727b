// Takes the place of wick's own header, whose instruction the machine wouldn't see.
#pragma once

#include <cstddef>

namespace wick::inline v0_1::detail {

inline void fetch_to_write(const void* at, std::size_t bytes) noexcept {
  for (std::size_t offset = 0; offset < bytes; offset += 64)
    __builtin_prefetch(static_cast<const char*>(at) + offset, 1, 3);
}

}  // namespace wick::detail
