// The bottleneck of a pipeline, and what to change. Each change is tried in a model built from the
// measurements.
#pragma once

#include <cstdint>
#include <string>

#include <wick/profile/detail/load_model.hpp>
#include <wick/profile/report.hpp>

namespace wick::inline v0_1::detail {

/// What limits the pipeline.
enum class bound : std::uint8_t {
  nothing,    ///< too few iterations to tell, or no change is predicted to help
  step,       ///< the training step: no change to the pipeline helps much
  others,     ///< the processors, busy with the rest of the program
  loaders,    ///< the workers, busy with other loaders
  stage,      ///< the workers, busy with a stage; without a name, with all stages
  blocking,   ///< the workers, held by a stage without a processor
  reads,      ///< calls on I/O threads
  memory,     ///< loader_options::memory
  lock,       ///< an async_semaphore
  waits,      ///< samples' waits outside wick, or in sleep_for
  slow_ones,  ///< a few slow samples
  prefetch,   ///< too few batches ahead
};

struct diagnosis {
  bound by = bound::nothing;
  std::string stage;        ///< the stage, if it is in one
  report::what_if mending;  ///< the most effective change
  report::prediction gain;  ///< of that change
  std::string text;         ///< one or more sentences
};

/// With fewer iterations, it is too early to tell.
inline constexpr std::uint64_t enough_for_verdict = 30;

diagnosis diagnose(const report& r);

/// Samples per second after a change, relative to before, with the error.
report::prediction predict(const measured_load& load, const report::what_if& changed);

}  // namespace wick::detail
