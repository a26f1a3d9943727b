/// \file
/// Where a loader runs that was given no executor.
#pragma once

#include <wick/async/executor.hpp>
#include <wick/base/detail/owned.hpp>
#include <wick/loader/loader_options.hpp>

namespace wick::inline v0_1::detail {

/// Nothing when it was given one. \param device  whether the loader feeds one \throws wick::error for workers
/// beside it, and for numbers that can't be meant
owned<executor> own_executor(const loader_options& options, bool device);

}  // namespace wick::detail
