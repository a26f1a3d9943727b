/// \file
/// The bottleneck of a pipeline, and what to change: each change is tried in the model of the measurements.
#pragma once

#include <cstdint>
#include <string>

#include <wick/profile/detail/load_model.hpp>
#include <wick/profile/what_if.hpp>

namespace wick::inline v0_1 {
struct report;
}

namespace wick::inline v0_1::detail {

/// What the pipeline would be faster without.
enum class bound : std::uint8_t {
  nothing,    ///< too few iterations to tell, or no change is predicted to help a loop that waits
  step,       ///< the training step: no change to the pipeline gives much
  others,     ///< the processors, by the rest of the program
  loaders,    ///< other loaders have the workers
  stage,      ///< the workers, by a stage; without a name, by all of them
  blocking,   ///< the workers, by a stage that holds them without a processor
  reads,      ///< calls on I/O threads
  memory,     ///< loader_options::memory
  lock,       ///< an async_semaphore
  waits,      ///< what samples wait for that is not wick's, or sleep_for
  slow_ones,  ///< a few samples that take long
  prefetch,   ///< too few batches ahead
};

struct diagnosis {
  bound by = bound::nothing;
  std::string stage;  ///< where it is in one
  what_if mending;    ///< the change that gives the most
  prediction gain;    ///< of it
  std::string text;   ///< a sentence or a few
};

/// Iterations below which it is too early to tell.
inline constexpr std::uint64_t enough_for_verdict = 30;

diagnosis diagnose(const report& r);

/// Samples a second after a change, as a multiple of those before it, and how sure that is.
prediction predict(const measured_load& load, const what_if& changed);

}  // namespace wick::detail
