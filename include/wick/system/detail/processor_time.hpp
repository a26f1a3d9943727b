/// \file
/// How long processors have worked for a thread, or for the whole program.
#pragma once

#include <ctime>
#include <pthread.h>
#include <thread>
#include <vector>

namespace wick::detail {

/// Seconds on the clock `id`; 0 when it can't be read.
inline double seconds_on(clockid_t id) noexcept {
  std::timespec t{};
  if (::clock_gettime(id, &t) != 0) return 0;
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// Of all threads of this process, ended ones included.
inline double process_seconds() noexcept { return seconds_on(CLOCK_PROCESS_CPUTIME_ID); }

/// Of these threads, which run; 0 where the system doesn't say.
inline double processor_seconds(std::vector<std::thread>& threads) noexcept {
  double sum = 0;
#ifdef __linux__
  for (std::thread& t : threads) {
    clockid_t id;
    if (t.joinable() && ::pthread_getcpuclockid(t.native_handle(), &id) == 0) sum += seconds_on(id);
  }
#else
  static_cast<void>(threads);
#endif
  return sum;
}

}  // namespace wick::detail
