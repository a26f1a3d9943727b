/// \file
/// How a sample says that it is not to blame itself: another, that was to go into it, has failed.
#pragma once

#include <cstdint>
#include <exception>

namespace wick::inline v0_1::detail {

/// Thrown through the stage that wanted the other.
struct failed_other {
  std::uint64_t index = 0;   ///< of the other, in the source
  std::uint32_t stage = 0;   ///< in which it failed
  std::exception_ptr cause;  ///< what it failed with
};

}  // namespace wick::detail
