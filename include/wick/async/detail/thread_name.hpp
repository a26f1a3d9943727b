/// \file
/// Names for threads, so that top, perf and a debugger say who is who.
#pragma once

#include <cstddef>
#include <cstdio>

#if defined(__linux__) || defined(__APPLE__)
#include <pthread.h>
#endif

namespace wick::detail {

/// "wick-3"; the system keeps 15 characters.
inline void name_this_thread(const char* name, std::size_t number) noexcept {
  char text[16];
  std::snprintf(text, sizeof(text), "%.8s-%zu", name, number % 100000);
#if defined(__linux__)
  ::pthread_setname_np(::pthread_self(), text);
#elif defined(__APPLE__)
  ::pthread_setname_np(text);
#else
  (void)text;
#endif
}

}  // namespace wick::detail
