/// \file
/// The bodies of what system/detail/thread_name.hpp declares. Included in exactly one file of a program.
#pragma once

#include <cstddef>
#include <cstdio>
#include <pthread.h>

#include <wick/system/detail/thread_name.hpp>

namespace wick::detail {

void name_this_thread(const char* name, std::size_t number) noexcept {
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
