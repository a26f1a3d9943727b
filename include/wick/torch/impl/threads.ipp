// Implements torch/threads.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>

#include <ATen/Parallel.h>

#include <wick/base/detail/cpus.hpp>
#include <wick/torch/threads.hpp>

namespace wick::inline v0_1 {

std::size_t limit_torch_threads(const executor& workers, std::size_t at_least) {
  const std::size_t all = detail::available_cpus();
  const std::size_t left = all > workers.workers() ? all - workers.workers() : 0;
  const std::size_t threads = std::max({left, at_least, std::size_t{1}});
  at::set_num_threads(static_cast<int>(threads));
  return threads;
}

}  // namespace wick
