// The executor of a loader that wasn't given one.
#pragma once

#include <wick/async/executor.hpp>
#include <wick/base/detail/owned.hpp>
#include <wick/loader/loader_options.hpp>

namespace wick::inline v0_1::detail {

/// Null if the options name an executor. \param device  whether the loader feeds a device
/// \throws wick::error when the options name an executor and also set its threads, or have a number out of
/// range
owned<executor> own_executor(const loader_options& options, bool device);

}  // namespace wick::detail
