// Large pages for large arrays.
#pragma once

#include <cstddef>

namespace wick::inline v0_1::detail {

/// Asks the system for pages of 2 MiB, if it has them, for memory that is about to be written for the first
/// time. With pages of 4 KiB, half of the time would go into page faults, and random reads would need a
/// lookup for each page.
void in_large_pages(void* first, std::size_t size) noexcept;

}  // namespace wick::detail
