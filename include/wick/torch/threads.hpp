// Divides the processors between wick's workers and Torch's own threads.
#pragma once

#include <cstddef>

#include <wick/async/executor.hpp>

namespace wick::inline v0_1 {

/// Gives Torch's CPU operators as many threads as there are processors without a worker of `workers`, at
/// least `at_least`, and returns that number. Otherwise, Torch uses all processors. If the model runs on the
/// CPU, the decoders and the training step then compete, and both are slower than with half of the processors
/// each. A model on a device needs few CPU threads anyway.
///
/// It calls at::set_num_threads: call it once, before the first operator, on the thread that trains.
std::size_t limit_torch_threads(const executor& workers, std::size_t at_least = 1);

}  // namespace wick
