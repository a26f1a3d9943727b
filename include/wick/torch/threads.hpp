/// \file
/// Between wick's workers and Torch's own threads, which want the same processors.
#pragma once

#include <cstddef>

#include <wick/async/executor.hpp>

namespace wick::inline v0_1 {

/// Leaves Torch's operators on the CPU as many threads as there are processors without a worker of `workers`,
/// at least `at_least`, and says how many. Torch takes all processors otherwise: where the model runs on the
/// CPU, decoders and training step then take each other's turns, and both are slower than with half each. A
/// model on a device wants few threads here anyway.
///
/// It is at::set_num_threads: call it once, before the first operator, on the thread that trains.
std::size_t limit_torch_threads(const executor& workers, std::size_t at_least = 1);

}  // namespace wick
