// How filter() marks a sample that it leaves out.
#pragma once

#include <exception>

namespace wick::inline v0_1::detail {

/// Thrown in place of a sample that filter() leaves out: always the same exception, so that a comparison
/// distinguishes it from a failure.
const std::exception_ptr& dropped() noexcept;
[[noreturn]] void drop();

}  // namespace wick::detail
