/// \file
/// How long processors have worked for a thread, or for the whole program.
#pragma once

#include <thread>
#include <vector>

namespace wick::detail {

/// Seconds on the clock `id`; 0 when it can't be read.
double seconds_on(clockid_t id) noexcept;

/// Of all threads of this process, ended ones included.
inline double process_seconds() noexcept { return seconds_on(CLOCK_PROCESS_CPUTIME_ID); }

/// Of these threads, which run; 0 where the system doesn't say.
double processor_seconds(std::vector<std::thread>& threads) noexcept;

}  // namespace wick::detail
