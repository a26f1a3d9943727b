// The durations and clocks of std::chrono. libstdc++ has a separate header for them; <chrono> adds
// calendars, formats, and <sstream>, which would be a tenth of the cost of core.hpp.
#pragma once

#include <ratio>

#if defined(__GLIBCXX__) && __has_include(<bits/chrono.h>)
#include <bits/chrono.h>
#else
#include <chrono>
#endif
