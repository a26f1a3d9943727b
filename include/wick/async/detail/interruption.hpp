/// \file
/// Whether a thread that waits while a source looks into its files is to give up.
#pragma once

#include <atomic>

namespace wick::inline v0_1::detail {

/// Throws when the program is to end what it does, as Python's after Ctrl-C. Null: no such thing is known.
using interruption_check = void (*)();
std::atomic<interruption_check>& interruption() noexcept;

/// What this thread waits for is no longer wanted once that is true, since another one has failed.
inline thread_local const std::atomic<bool>* no_longer_wanted = nullptr;

/// For loops that wait, ten times a second or so. \throws wick::cancelled, and what interruption() throws
void check_interruption();

}  // namespace wick::detail
