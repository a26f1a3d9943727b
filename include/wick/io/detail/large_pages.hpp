/// \file
/// Much memory in large pages.
#pragma once

#include <cstddef>

namespace wick::inline v0_1::detail {

/// Asks the system for pages of 2 MiB, where it has them, in memory that is about to be written for the first
/// time: half the time would go into pages of 4 KiB, and reads at random places look each of these up.
void in_large_pages(void* first, std::size_t size) noexcept;

}  // namespace wick::detail
