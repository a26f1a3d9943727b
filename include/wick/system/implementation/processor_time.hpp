/// \file
/// The bodies of what system/detail/processor_time.hpp declares. Included in exactly one file of a program.
#pragma once

#include <ctime>
#include <pthread.h>

#include <wick/system/detail/processor_time.hpp>

namespace wick::detail {

double seconds_on(clockid_t id) noexcept {
  std::timespec t{};
  if (::clock_gettime(id, &t) != 0) return 0;
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double thread_seconds(::pthread_t thread) noexcept {
#ifdef __linux__
  clockid_t id;
  if (::pthread_getcpuclockid(thread, &id) == 0) return seconds_on(id);
#else
  static_cast<void>(thread);
#endif
  return 0;
}

}  // namespace wick::detail
