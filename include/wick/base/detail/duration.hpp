/// \file
/// The durations and clocks of std::chrono. libstdc++ has them in a header of their own; <chrono> brings
/// calendars, formats and <sstream>, a tenth of what core.hpp would cost with it.
#pragma once

#include <ratio>

#if defined(__GLIBCXX__) && __has_include(<bits/chrono.h>)
#include <bits/chrono.h>
#else
#include <chrono>
#endif
