/// \file
/// What bounds a pipeline, and what to change: by trying each change in the model of what was measured.
#pragma once

#include <cstdint>
#include <string>

#include <wick/observe/detail/load_model.hpp>
#include <wick/observe/what_if.hpp>

namespace wick {
struct report;
}

namespace wick::detail {

/// What the pipeline would be faster without.
enum class bound : std::uint8_t {
  nothing,    ///< nothing was taken yet, or no single change would do much
  step,       ///< the training step: the loader would give more
  others,     ///< all are in use, by the rest of the program
  loaders,    ///< other loaders have the workers
  stage,      ///< the workers, by a stage
  blocking,   ///< the workers, by a stage that holds them without a processor
  reads,      ///< calls on I/O threads
  memory,     ///< loader_options::memory
  lock,       ///< an async_mutex, async_semaphore or channel
  waits,      ///< what samples wait for that is not wick's, or sleep_for
  slow_ones,  ///< a few samples that take long
  prefetch,   ///< batches ahead
};

struct diagnosis {
  bound by = bound::nothing;
  std::string stage;  ///< where it is in one
  what_if mending;    ///< what the text says a gain of
  prediction gain;
  std::string text;  ///< a sentence or a few
};

diagnosis diagnose(const report& r);

/// Samples a second after a change, as a multiple of those before it, and how sure that is.
prediction predict(const measured_load& load, const what_if& changed);

}  // namespace wick::detail
