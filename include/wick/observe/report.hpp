/// \file
/// Where the time went: a table of stages, the share of waiting, and what to change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace wick {

namespace detail {

/// How often a stage ran, and how long that took.
struct stage_report {
  std::string name;         ///< as errors show it
  std::uint64_t count = 0;  ///< samples, each as often as it was tried; for stages behind batch() batches
  double busy = 0;          ///< seconds of work, summed over workers
  double blocked = 0;       ///< seconds of suspension, summed over samples (many wait at the same time)
};

/// What became of samples that failed in a stage: "decode", "replaced", 12.
struct outcome_report {
  std::string stage;         ///< that failed
  std::string_view outcome;  ///< "failed", "skipped", "replaced", "good when tried again"
  std::uint64_t count = 0;   ///< samples
};

}  // namespace detail

/// What loader::report() gives: everything since the report before it. Print it.
struct report {
  double seconds = 0;          ///< since the report before
  double taking = 0;           ///< of these, while an epoch was being taken: from epoch() to its end
  std::size_t workers = 0;     ///< of the executor
  std::size_t io_threads = 0;  ///< of the executor
  std::size_t cpus = 0;        ///< processors that the program may use
  std::uint64_t batches = 0;   ///< delivered
  std::uint64_t samples = 0;   ///< delivered
  // While an epoch was being taken:
  double worked = 0;    ///< seconds for which workers ran this loader's samples and batches, summed over them
  double others = 0;    ///< the same of other loaders on the executor
  double helped = 0;    ///< seconds in which the waiting training loop ran samples itself
  double io_calls = 0;  ///< seconds that I/O threads were in calls, for whomever, summed over them
  double worker_processor =
      0;  ///< processor time that the workers took, for whomever; 0 where the system doesn't say
  double io_processor = 0;       ///< the same of the I/O threads
  double processor = 0;          ///< the same of the whole program
  double wait_mean = 0;          ///< share of the training loop's time spent waiting for data, 0 … 1
  double wait_median = 0;        ///< the same of the median iteration
  std::uint64_t iterations = 0;  ///< of the training loop
  std::uint64_t filtered = 0;    ///< samples that filter() has left out
  std::uint64_t failures = 0;    ///< samples that could not be delivered
  std::vector<detail::outcome_report> outcomes;  ///< what became of them, and of those that a retry has saved
  std::vector<detail::stage_report> stages;      ///< in the order of the pipeline
  std::vector<std::string> notes;                ///< what is worth knowing, a line each

  /// Seconds of work in all stages, summed over workers.
  double busy() const noexcept;
  /// Share of the workers' time in which they worked for this loader, 0 … 1.
  double utilization() const noexcept { return share(worked, workers); }
  /// `some` of the time that `threads` had while an epoch was being taken, 0 … 1.
  double share(double some, std::size_t threads) const noexcept;
  /// One sentence: is the loop kept waiting, by what, and what would help.
  std::string advice() const;
  /// All of it as text, a line a stage: what `std::cout << train.report()` prints.
  std::string to_string() const;
};

namespace detail {
/// "12.30 ms": the unit is chosen by what will be printed, so 0.999999 s is "1.00 s" and not "1000.00 ms".
std::string format_duration(double seconds);
}  // namespace detail

template <class Stream>
  requires requires(Stream& s, const std::string& text) { s << text; }
Stream& operator<<(Stream& to, const report& r) {
  to << r.to_string();
  return to;
}

}  // namespace wick
