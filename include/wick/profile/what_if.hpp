// A question to a report: how fast would the pipeline be after a change?
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace wick::inline v0_1 {

/// The changes to predict. Members that are left out stay as measured, and several changes count together:
/// `report.predict({.workers = 8, .step_ms = 0})`.
struct what_if {
  std::optional<std::size_t> workers = {};     ///< threads that run stages
  std::optional<std::size_t> io_threads = {};  ///< threads for calls that block
  std::optional<std::size_t> processors = {};  ///< processors that the program may use
  std::optional<std::size_t> in_flight = {};   ///< samples in flight at one time
  std::optional<std::size_t> prefetch = {};    ///< batches ahead
  std::optional<std::size_t> memory = {};      ///< loader_options::memory, in bytes
  std::optional<double> step_ms = {};          ///< the training step; 0 for the loader alone
  std::string stage = {};                      ///< the stage that the next three members apply to
  double times_faster = 1;        ///< the speedup of its work and its waits; with infinity, it takes no time
  bool without_blocking = false;  ///< without its waits for locks and in calls that block its worker
  double without_slowest = 0;     ///< the slowest samples, this share of all, take as long as the others
};

/// A report's prediction for a change: samples a second, with the bounds that the measurements leave open.
struct prediction {
  double samples_per_second = 0;
  double low = 0, high = 0;  ///< about two standard deviations
  double gain = 0;           ///< samples_per_second as a multiple of the measured rate
  double gain_error = 0;     ///< the uncertainty of gain, ±

  /// "1.9x (±0.1)".
  std::string to_string() const;
};

}  // namespace wick
