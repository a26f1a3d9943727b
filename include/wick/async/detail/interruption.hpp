// Whether a thread that waits while a source examines its files should give up.
#pragma once

#include <atomic>

namespace wick::inline v0_1::detail {

/// Throws if the program should stop what it is doing, like Python's check after Ctrl-C. Null: there is no
/// check.
using interruption_check = void (*)();
std::atomic<interruption_check>& interruption() noexcept;

/// Null, or points to a flag that is true once another call has failed: this thread's wait isn't needed then.
inline thread_local const std::atomic<bool>* no_longer_wanted = nullptr;

/// For wait loops: call it about ten times a second. \throws wick::cancelled, and what interruption() throws
void check_interruption();

}  // namespace wick::detail
