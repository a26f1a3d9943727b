/// \file
/// Names for threads, so that top, perf and a debugger say who is who.
#pragma once

#include <cstddef>

#if defined(__linux__) || defined(__APPLE__)
#endif

namespace wick::detail {

/// "wick-3"; the system keeps 15 characters.
void name_this_thread(const char* name, std::size_t number) noexcept;

}  // namespace wick::detail
