/// \file
/// A question to a report: what would the pipeline give if something were changed?
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace wick::inline v0_1 {

/// What is changed; what is left out stays as it was measured. Several changes are made together:
/// `report.predict({.workers = 8, .step_ms = 0})`.
struct what_if {
  std::optional<std::size_t> workers = {};     ///< threads that run stages
  std::optional<std::size_t> io_threads = {};  ///< threads for calls that block
  std::optional<std::size_t> processors = {};  ///< that the program may use
  std::optional<std::size_t> in_flight = {};   ///< samples under way at a time
  std::optional<std::size_t> prefetch = {};    ///< batches ahead
  std::optional<std::size_t> memory = {};      ///< loader_options::memory, in bytes
  std::optional<double> step_ms = {};          ///< the training step; 0: the loader alone
  std::string stage = {};                      ///< the stage that the next three are about
  double times_faster = 1;        ///< its work, and what it waits for; infinity: it takes no time
  bool without_blocking = false;  ///< it waits for no lock, and in no call that blocks its worker
  double without_slowest = 0;     ///< this share of its samples takes as long as the others
};

/// What a report expects of a change: samples a second, with the bounds of what measuring leaves open.
struct prediction {
  double samples_per_second = 0;
  double low = 0, high = 0;  ///< about two standard deviations
  double gain = 0;           ///< samples_per_second as a multiple of the measured rate
  double gain_error = 0;     ///< as ± of gain

  /// "1.9x (±0.1)".
  std::string to_string() const;
};

}  // namespace wick
