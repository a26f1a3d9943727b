/// \file
/// The bodies of what system/detail/processor_time.hpp declares. Included in exactly one file of a program.
#pragma once

#include <ctime>
#include <pthread.h>
#include <thread>
#include <vector>

#include <wick/system/detail/processor_time.hpp>

namespace wick::detail {

double seconds_on(clockid_t id) noexcept {
  std::timespec t{};
  if (::clock_gettime(id, &t) != 0) return 0;
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double processor_seconds(std::vector<std::thread>& threads) noexcept {
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
