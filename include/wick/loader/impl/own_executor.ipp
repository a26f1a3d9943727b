// Implements loader/detail/own_executor.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>

#include <wick/base/detail/cpus.hpp>
#include <wick/loader/detail/own_executor.hpp>
#include <wick/pipeline/error.hpp>

namespace wick::inline v0_1::detail {

owned<executor> own_executor(const loader_options& options, bool device) {
  if (options.executor != nullptr && (options.workers || options.io_threads || options.nice)) {
    throw error("loader: ." +
                std::string(options.workers ? "workers"
                            : options.nice  ? "nice"
                                            : "io_threads") +
                " is given beside .executor, which has threads of its own; leave one of the two out");
  }
  // Each of these takes a thread, and a place in everything that is kept per worker.
  const std::size_t most = std::max<std::size_t>(64, 8 * available_cpus());
  const auto check = [](const char* name, std::optional<std::size_t> given, std::size_t limit) {
    if (!given || (*given >= 1 && *given <= limit)) return;
    throw error("loader: ." + std::string(name) + " is " + std::to_string(*given) +
                (*given == 0 ? "; it is at least 1, or left out"
                             : ", and at most " + std::to_string(limit) + " make sense with " +
                                   std::to_string(available_cpus()) +
                                   " processors; leave it out, or give an executor that has as many"));
  };
  check("workers", options.workers, most);
  check("io_threads", options.io_threads, 1024);
  check("prefetch", options.prefetch, ~std::size_t{0});
  check("in_flight", options.in_flight, ~std::size_t{0});
  if (options.nice && (*options.nice < 0 || *options.nice > 19))
    throw error("loader: .nice is " + std::to_string(*options.nice) + "; it is from 0 to 19, or left out");
  if (options.executor == nullptr) {
    return make_owned<executor>(executor_options{.workers = options.workers,
                                                 .io_threads = options.io_threads,
                                                 .nice = options.nice.value_or(device ? 15 : 0)});
  }
  return nullptr;
}

}  // namespace wick::detail
