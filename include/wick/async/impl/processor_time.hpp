/// \file
/// The bodies of what async/detail/processor_time.hpp declares. Included in exactly one file of a program.
#pragma once

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <pthread.h>
#include <sys/resource.h>

#include <wick/async/detail/processor_time.hpp>

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

std::uint64_t delay_of_this_thread() noexcept {
  std::uint64_t ran = 0, waited = 0;
#ifdef __linux__
  std::FILE* const f = std::fopen("/proc/thread-self/schedstat", "re");
  if (f == nullptr) return 0;
  if (std::fscanf(f, "%" SCNu64 " %" SCNu64, &ran, &waited) != 2) waited = 0;
  std::fclose(f);
#endif
  static_cast<void>(ran);
  return waited;
}

thread_usage usage_of_this_thread() noexcept {
  thread_usage out;
#ifdef RUSAGE_THREAD
  ::rusage r;
  if (::getrusage(RUSAGE_THREAD, &r) != 0) return out;
  // Its times are brought up to date by the clock's tick alone.
  out.nanoseconds = static_cast<std::uint64_t>(1e9 * seconds_on(CLOCK_THREAD_CPUTIME_ID));
  out.waits = static_cast<std::uint64_t>(r.ru_nvcsw);
#endif
  return out;
}

}  // namespace wick::detail
