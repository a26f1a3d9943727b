/// \file
/// Names and numbers of threads, so that top, perf, a debugger and messages say who is who.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>

#if defined(__linux__) || defined(__APPLE__)
#include <pthread.h>
#endif
#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
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

/// The system's number of the calling thread; 0 where there is none to be had.
[[gnu::noinline]] inline int this_thread_id() noexcept {
#ifdef __linux__
  static thread_local const int mine = static_cast<int>(::syscall(SYS_gettid));
  return mine;
#else
  return 0;
#endif
}

/// What a thread of this process is called and is in, as far as the system tells: "wick-io-0 (thread 4242) is
/// in read() of /data/0012.jpg". Empty where it tells nothing.
std::string what_thread_does(int id);

}  // namespace wick::detail
