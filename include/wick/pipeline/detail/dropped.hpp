/// \file
/// How filter() says that a sample is left out.
#pragma once

#include <exception>

namespace wick::detail {

/// What is thrown in place of a sample that filter() leaves out: always this one, so that it is told from a
/// failure by a comparison.
const std::exception_ptr& dropped() noexcept;
[[noreturn]] void drop();

}  // namespace wick::detail
