// Implements base/detail/processor_time.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <charconv>
#include <ctime>
#include <sys/resource.h>
#ifdef __linux__
#include <fcntl.h>
#include <unistd.h>
#endif

#include <wick/base/detail/processor_time.hpp>

namespace wick::inline v0_1::detail {

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
  std::uint64_t waited = 0;
#ifdef __linux__
  const int file = ::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char text[64];  // "101522 50616 1": nanoseconds that it ran, and that it waited
  const ::ssize_t size = ::read(file, text, sizeof(text));
  ::close(file);
  const char* const end = text + (size > 0 ? size : 0);
  if (const char* const space = std::find(static_cast<const char*>(text), end, ' '); space != end)
    std::from_chars(space + 1, end, waited);
#endif
  return waited;
}

thread_usage usage_of_this_thread() noexcept {
  thread_usage out;
#ifdef RUSAGE_THREAD
  ::rusage r;
  if (::getrusage(RUSAGE_THREAD, &r) != 0) return out;
  // getrusage updates its times only at the clock's tick.
  out.nanoseconds = static_cast<std::uint64_t>(1e9 * seconds_on(CLOCK_THREAD_CPUTIME_ID));
  out.waits = static_cast<std::uint64_t>(r.ru_nvcsw);
#endif
  return out;
}

}  // namespace wick::detail
