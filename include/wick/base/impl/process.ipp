// Implements base/detail/process.hpp. Included in exactly one file of a program.
#pragma once

#include <pthread.h>
#include <stdexcept>
#include <string>

#include <wick/base/detail/process.hpp>

namespace wick::inline v0_1::detail {

process_mark::process_mark() noexcept {
#if defined(__unix__) || defined(__APPLE__)
  static const int registered =
      ::pthread_atfork(nullptr, nullptr, [] { forks().fetch_add(1, std::memory_order_relaxed); });
  static_cast<void>(registered);
#endif
  made_in_ = forks().load(std::memory_order_relaxed);
}

void process_mark::refuse(const char* what) {
  throw std::logic_error(
      std::string("wick: ") + what +
      " in a forked child: its threads stayed in the parent. Fork before you make executors and "
      "loaders, or make new ones in the child");
}

}  // namespace wick::detail
