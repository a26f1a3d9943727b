// Marks a failure that isn't the sample's own: another sample, which was to go into it, has failed.
#pragma once

#include <cstdint>
#include <exception>

namespace wick::inline v0_1::detail {

/// Thrown through the stage that wanted the other sample.
struct failed_other {
  std::uint64_t index = 0;   ///< the other sample's index in the source
  std::uint32_t stage = 0;   ///< the stage in which it failed
  std::exception_ptr cause;  ///< the exception it failed with
};

}  // namespace wick::detail
