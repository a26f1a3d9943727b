/// \file
/// The executor of a loader that wasn't given one.
#pragma once

#include <wick/async/executor.hpp>
#include <wick/base/detail/owned.hpp>
#include <wick/loader/loader_options.hpp>

namespace wick::inline v0_1::detail {

/// Null if the options name one. \param device  whether the loader feeds one \throws wick::error when the
/// options name one and set up another, or have a number out of range
owned<executor> own_executor(const loader_options& options, bool device);

}  // namespace wick::detail
