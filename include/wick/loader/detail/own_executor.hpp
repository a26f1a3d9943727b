/// \file
/// Where a loader runs that was given no executor.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

#include <wick/async/executor.hpp>
#include <wick/base/detail/cpus.hpp>
#include <wick/base/detail/owned.hpp>
#include <wick/loader/loader_options.hpp>
#include <wick/pipeline/error.hpp>

namespace wick::inline v0_1::detail {

/// Nothing when it was given one. \param device  whether the loader feeds one \throws wick::error for workers
/// beside it
inline owned<executor> own_executor(const loader_options& options, bool device) {
  if (options.executor == nullptr) {
    // A number that can't be meant: each would take a thread and a place in all that is kept a worker.
    const std::size_t most = std::max<std::size_t>(64, 8 * available_cpus());
    if (options.workers > most || options.io_threads > 1024) {
      const bool of_workers = options.workers > most;
      throw error("loader: ." + std::string(of_workers ? "workers" : "io_threads") + " is " +
                  std::to_string(of_workers ? options.workers : options.io_threads) + ", and at most " +
                  std::to_string(of_workers ? most : 1024) + " make sense with " +
                  std::to_string(available_cpus()) +
                  " processors; leave it out, or give an executor that has as many");
    }
    if (options.nice < -1 || options.nice > 19)
      throw error("loader: .nice is " + std::to_string(options.nice) + "; it is from 0 to 19, or -1");
    return make_owned<executor>(executor_options{.workers = options.workers,
                                                 .io_threads = options.io_threads,
                                                 .nice = options.nice >= 0 ? options.nice
                                                         : device          ? 15
                                                                           : 0});
  }
  if (options.workers != 0 || options.io_threads != 0 || options.nice >= 0) {
    throw error("loader: ." +
                std::string(options.workers != 0 ? "workers"
                            : options.nice >= 0  ? "nice"
                                                 : "io_threads") +
                " is given beside .executor, which has threads of its own; leave one of the two out");
  }
  return nullptr;
}

}  // namespace wick::detail
