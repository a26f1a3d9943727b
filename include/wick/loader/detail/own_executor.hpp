/// \file
/// Where a loader runs that was given no executor.
#pragma once

#include <string>

#include <wick/run/executor.hpp>
#include <wick/sample/error.hpp>
#include <wick/schedule/loader_options.hpp>
#include <wick/system/detail/owned.hpp>

namespace wick::detail {

/// Nothing when it was given one. \throws wick::error for workers beside it
inline owned<executor> own_executor(const loader_options& options) {
  if (options.executor == nullptr) {
    return make_owned<executor>(executor_options{options.workers, options.io_threads});
  }
  if (options.workers != 0 || options.io_threads != 0) {
    throw error("loader: ." + std::string(options.workers != 0 ? "workers" : "io_threads") +
                " is given beside .executor, which has threads of its own; leave one of the two out");
  }
  return nullptr;
}

}  // namespace wick::detail
