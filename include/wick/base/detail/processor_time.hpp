/// \file
/// How long processors have worked for a thread, or for the whole program.
#pragma once

#include <cstdint>
#include <pthread.h>
#include <time.h>

namespace wick::inline v0_1::detail {

/// What a thread has had of processors.
struct thread_usage {
  std::uint64_t nanoseconds = 0;  ///< of a processor
  std::uint64_t waits = 0;        ///< how often it gave the processor up: it waited for something
};
/// Of the calling thread. Nothing where the system doesn't say.
thread_usage usage_of_this_thread() noexcept;

/// Nanoseconds for which the calling thread could have run, and waited for a processor that others had. 0
/// where the system doesn't say.
std::uint64_t delay_of_this_thread() noexcept;

/// Seconds on the clock `id`; 0 when it can't be read.
double seconds_on(clockid_t id) noexcept;

/// Of all threads of this process, ended ones included.
inline double process_seconds() noexcept { return seconds_on(CLOCK_PROCESS_CPUTIME_ID); }

/// Of a thread that has not been joined; 0 where the system doesn't say.
double thread_seconds(::pthread_t thread) noexcept;

}  // namespace wick::detail
