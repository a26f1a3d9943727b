// Thread names and numbers, so that top, perf, a debugger, and messages can tell threads apart.
#pragma once

#include <cstddef>
#include <cstdio>

#if defined(__linux__) || defined(__APPLE__)
#include <pthread.h>
#endif

namespace wick::inline v0_1::detail {

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

/// Lowers the calling thread's priority by `steps`, as nice(1) counts; on Linux. If the system refuses, the
/// priority stays.
void lower_priority(int steps) noexcept;
/// The system's id of the calling thread; 0 if it has none.
int this_thread_id() noexcept;
/// What a thread of this process does: 'R' it computes, 'S' it sleeps in a system call, 'D' the same for a
/// disk or another device; 0 if the system doesn't say.
char thread_state(int id) noexcept;

}  // namespace wick::detail
