// Implements pipeline/detail/dropped.hpp. Included in exactly one file of a program.
#pragma once

#include <wick/pipeline/detail/dropped.hpp>
#include <wick/pipeline/error.hpp>

namespace wick::inline v0_1::detail {

const std::exception_ptr& dropped() noexcept {
  static const std::exception_ptr it = std::make_exception_ptr(error("left out by filter()"));
  return it;
}

void drop() { std::rethrow_exception(dropped()); }

}  // namespace wick::detail
