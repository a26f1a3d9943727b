// Where the time went: a table of stages, the share of waiting, and what to change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <wick/profile/detail/load_model.hpp>

namespace wick::inline v0_1 {

/// The result of loader::report(): everything since the previous report. Print it.
struct report : detail::report_load {
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
    double times_faster = 1;  ///< the speedup of its work and its waits; with infinity, it takes no time
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

  /// The waits of samples without a worker, in seconds summed over samples.
  struct wait_times {
    double io_thread = 0;  ///< until an I/O thread was free
    double io_call = 0;    ///< for a call on an I/O thread, a server, or another sample's read
    double memory = 0;     ///< for room in loader_options::memory
    double lock = 0;       ///< for an async_semaphore
    double time = 0;       ///< in sleep_for
    double worker = 0;     ///< until a worker was free to continue
    double other = 0;      ///< for something that isn't wick's
  };

  /// How often a stage ran, and how long that took. All times are in seconds.
  struct stage {
    std::string name;          ///< as errors show it
    std::uint64_t count = 0;   ///< samples, each as often as it was tried; batches for stages after batch()
    double busy = 0;           ///< time on workers, summed over them
    double blocked = 0;        ///< time suspended, summed over samples (many wait at the same time)
    double processor = 0;      ///< the part of busy with a processor
    double held = 0;           ///< the part of busy without a processor, in a lock or a blocking call
    std::uint64_t failed = 0;  ///< samples that failed here
    std::uint64_t bytes = 0;   ///< bytes of the loader's memory that its samples reserved
    double median = 0, p90 = 0, p99 = 0;  ///< of single samples, waiting included
    double slowest = 0;                   ///< the longest time of a sample, of those that were timed
    std::string slowest_key;              ///< the key of that sample
    double costliest = 0;                 ///< the most processor time of a sample, of those that took long
    std::string costliest_key;            ///< the key of that sample
    double deferred = 0;  ///< the part of busy that a later stage (a cache, a callable, batch()) spends on an
                          ///< image's decoding and resizing
    wait_times waits;     ///< the parts of blocked

    bool of_batches = false;  ///< whether it is after batch()
  };

  /// The outcome of samples that failed in a stage: "decode", "replaced", 12.
  struct outcome {
    std::string stage;         ///< the stage that failed
    std::string_view outcome;  ///< "failed", "skipped", "replaced", "good when tried again"
    std::uint64_t count = 0;   ///< samples
  };

  /// Times of all iterations of the training loop, in seconds.
  struct timing {
    double mean = 0, median = 0, p99 = 0;
  };

  /// Why workers did nothing for this loader, in seconds summed over workers.
  struct idle_times {
    double samples = 0;  ///< as many samples as may be in flight were waiting (for reads, memory, …)
    double order = 0;    ///< all batches ahead were begun, and the oldest was not ready yet
    double loop = 0;     ///< the batches ahead were ready: the training loop had not taken them
  };

  /// One worker. Times are in seconds.
  struct worker {
    double busy = 0;       ///< on this loader's samples and batches
    double processor = 0;  ///< processor time for any work
  };

  /// Consecutive iterations of the training loop. Times are in seconds.
  struct timeline_piece {
    double begin = 0;              ///< of the first iteration, since the previous report
    double seconds = 0;            ///< until the end of the last iteration
    std::uint64_t iterations = 0;  ///< their number
    double waiting = 0;            ///< waiting for data, the mean of an iteration
    double longest_wait = 0;       ///< the longest wait of an iteration
    double step = 0;               ///< the rest of an iteration, the mean
    double ready = 0;              ///< batches that were ready when the loop took one, the mean
    double in_flight = 0;          ///< samples in flight, the mean
    double bytes = 0;              ///< bytes used of loader_options::memory, the mean
  };

  double seconds = 0;          ///< since the previous report
  double taking = 0;           ///< the part of `seconds` inside epochs, from epoch() to their end
  std::size_t workers = 0;     ///< of the executor
  std::size_t io_threads = 0;  ///< of the executor
  std::size_t requests = 0;    ///< requests to servers at one time; 0 without servers
  std::size_t cpus = 0;        ///< processors that the program may use
  std::uint64_t batches = 0;   ///< delivered
  std::uint64_t samples = 0;   ///< delivered
  // While an epoch was being taken:
  double worked = 0;    ///< seconds in which workers ran this loader's samples and batches, summed over them
  double others = 0;    ///< the same for other loaders on the executor
  double helped = 0;    ///< seconds in which the waiting training loop ran samples itself
  double io_calls = 0;  ///< seconds that I/O threads spent in calls, for any work, summed over them
  double worker_processor =
      0;  ///< processor time that the workers took, for any work; 0 where the system doesn't say
  double io_processor = 0;          ///< the same for the I/O threads
  double processor = 0;             ///< the same for the whole program
  double wait_mean = 0;             ///< share of the training loop's time spent waiting for data, 0 … 1
  double wait_median = 0;           ///< the same for the median iteration
  std::uint64_t iterations = 0;     ///< of the training loop
  timing waiting, iteration, step;  ///< times of an iteration: waiting for data, in all, the rest
  /// The share of the step's time, 0 … 1, in which the loop's thread could run, but other threads had the
  /// processors. Its operations reached a device that much later.
  double step_delay = 0;
  idle_times idle;
  std::size_t memory_limit = 0;                  ///< loader_options::memory, in bytes
  std::size_t memory_used = 0, memory_peak = 0;  ///< bytes of it in use now, and the most so far
  std::uint64_t filtered = 0;                    ///< samples that filter() has left out
  std::uint64_t failures = 0;                    ///< samples that could not be delivered
  std::vector<outcome> outcomes;                 ///< of these, and of samples that a retry has saved
  std::vector<stage> stages;                     ///< in the order of the pipeline
  std::vector<worker> each_worker;
  std::vector<std::string> notes;        ///< further advice, a line each
  std::vector<timeline_piece> timeline;  ///< all iterations, in 256 pieces at most
  /// If this report has fewer than 30 iterations, but the reports since the last verdict have 30 together: a
  /// report of all since that verdict. advice() then uses it.
  std::shared_ptr<const report> since_verdict;

  /// Seconds of work in all stages, summed over workers.
  double busy() const noexcept;
  /// The share of the workers' time in which they worked for this loader, 0 … 1.
  double utilization() const noexcept { return share(worked, workers); }
  /// `some` as a share of the time that `threads` had while an epoch was being taken, 0 … 1.
  double share(double some, std::size_t threads) const noexcept;
  double samples_per_second() const noexcept {
    return taking > 0 ? static_cast<double>(samples) / taking : 0.0;
  }
  /// Whether the training loop waits for more than one hundredth of its time.
  bool stalled() const noexcept { return iterations != 0 && wait_mean > 0.01; }

  /// The throughput after a change, predicted from the measurements: `predict({.workers = 8})`. It runs a
  /// model of queues with the measured times of samples. \throws std::invalid_argument when no stage has that
  /// name, or no batch has been taken yet
  prediction predict(const what_if& changed) const;

  /// The bottleneck and the gain from removing it, in a few sentences. The bottleneck is the change with the
  /// largest prediction, or the training step if no change gives 5 %. A verdict needs 30 iterations: reports
  /// with fewer are counted together until they have as many.
  std::string advice() const;
  /// The whole report as text of at most 80 columns, advice() first, a line for each stage: the output of
  /// `std::cout << train.report()`.
  std::string to_string() const;
  /// The same as a JSON object: names as here, times in seconds.
  std::string to_json() const;
  /// The same as a page for a browser, with the timeline drawn. It is one file that needs no other:
  /// `std::ofstream("report.html") << train.report().to_html()`.
  std::string to_html() const;
  /// The same in Prometheus's text format (version 0.0.4), with `labels` added to each line: `rank="0"`.
  std::string to_prometheus(std::string_view labels = {}) const;
  /// Calls `to(name, value)` for each figure: "wick/wait", "wick/stage/decode/busy". For TensorBoard and
  /// similar tools.
  template <class To>
  void scalars(To&& to) const {
    for (const auto& [name, value] : all_scalars()) to(std::string_view(name), value);
  }
  /// Writes the report to standard error on rank 0; on other ranks only if stalled(), with the rank before
  /// it. \returns whether it did
  bool print_if_stalled(std::size_t rank = 0) const;

 private:
  struct scalar {
    std::string name;
    double value;
  };
  std::vector<scalar> all_scalars() const;
};

namespace detail {
/// "12.3 ms", in three digits. The printed digits determine the unit, so 0.9999 s is "1.00 s".
std::string format_duration(double seconds);
/// "4.2 %"; without decimals from 10 % on: "42 %".
std::string format_percent(double share);
/// "16 MiB"; two digits from 1 KiB on.
std::string format_bytes(double bytes);
/// The columns that a text takes on a terminal.
std::size_t columns(std::string_view text) noexcept;

/// "CPUs: ", "1.9 of 2 used"
struct report_line {
  std::string lead, text;
};
/// The sentences of the report, `before` and `after` the table: the verdict, a summary, and more.
struct report_lines {
  explicit report_lines(const report& r);
  std::vector<report_line> before, after;
};
}  // namespace detail

template <class Stream>
  requires requires(Stream& s, const std::string& text) { s << text; }
Stream& operator<<(Stream& to, const report& r) {
  to << r.to_string();
  return to;
}

}  // namespace wick
