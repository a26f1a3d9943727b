// Implements base/detail/single_user.hpp. Included in exactly one file of a program.
#pragma once

#include <stdexcept>
#include <string>

#include <wick/base/detail/single_user.hpp>

namespace wick::inline v0_1::detail {

void single_user::refuse(const char* call) {
  throw std::logic_error(
      std::string("wick: ") + call +
      ": two threads or coroutines use one loader at the same time; let one take the batches, or "
      "give each a loader of its own (they may share an executor)");
}

}  // namespace wick::detail
