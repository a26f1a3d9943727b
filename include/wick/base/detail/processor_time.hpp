// Processor time of a thread, or of the whole program.
#pragma once

#include <cstdint>
#include <pthread.h>
#include <time.h>

namespace wick::inline v0_1::detail {

/// A thread's use of processors.
struct thread_usage {
  std::uint64_t nanoseconds = 0;  ///< processor time
  std::uint64_t waits = 0;        ///< how often it gave up its processor to wait for something
};
/// For the calling thread. Zeros if the system doesn't say.
thread_usage usage_of_this_thread() noexcept;

/// Nanoseconds for which the calling thread could have run but waited for a processor. 0 if the system
/// doesn't say.
std::uint64_t delay_of_this_thread() noexcept;

/// Seconds on the clock `id`; 0 when it can't be read.
double seconds_on(clockid_t id) noexcept;

/// For all threads of this process, including those that have ended.
inline double process_seconds() noexcept { return seconds_on(CLOCK_PROCESS_CPUTIME_ID); }

/// For a thread that hasn't been joined; 0 if the system doesn't say.
double thread_seconds(::pthread_t thread) noexcept;

}  // namespace wick::detail
