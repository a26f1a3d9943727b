/// \file
/// Where the time went: a table of stages, the share of waiting, and what to change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <wick/profile/detail/load_model.hpp>
#include <wick/profile/what_if.hpp>

namespace wick::inline v0_1 {

/// What loader::report() gives: everything since the report before it. Print it.
struct report : detail::report_load {
  /// What samples waited for without a worker, in seconds summed over them.
  struct wait_times {
    double io_thread = 0;  ///< until an I/O thread was free
    double io_call = 0;    ///< for a call on an I/O thread, a server, or what another sample reads
    double memory = 0;     ///< for room in loader_options::memory
    double lock = 0;       ///< for an async_semaphore
    double time = 0;       ///< in sleep_for
    double worker = 0;     ///< until a worker was free to continue
    double other = 0;      ///< for something that is not wick's
  };

  /// How often a stage ran, and how long that took. All times in seconds.
  struct stage {
    std::string name;          ///< as errors show it
    std::uint64_t count = 0;   ///< samples, each as often as it was tried; for stages behind batch() batches
    double busy = 0;           ///< on workers, summed over them
    double blocked = 0;        ///< suspended, summed over samples (many wait at the same time)
    double processor = 0;      ///< of busy: had a processor
    double held = 0;           ///< of busy: gave the processor up, in a lock or a call that blocks
    std::uint64_t failed = 0;  ///< samples that failed here
    std::uint64_t bytes = 0;   ///< that its samples reserved of the loader's memory
    double median = 0, p90 = 0, p99 = 0;  ///< of single samples, waiting included
    double slowest = 0;                   ///< of those that were timed
    std::string slowest_key;              ///< which it was
    double costliest = 0;                 ///< the most processor time of a sample, of those that took long
    std::string costliest_key;            ///< which it was
    double deferred = 0;  ///< of busy: what a later stage (a cache, a callable, batch()) carries out of a
                          ///< picture's decoding and resizing
    wait_times waits;     ///< of blocked

    bool of_batches = false;  ///< behind batch()
  };

  /// What became of samples that failed in a stage: "decode", "replaced", 12.
  struct outcome {
    std::string stage;         ///< that failed
    std::string_view outcome;  ///< "failed", "skipped", "replaced", "good when tried again"
    std::uint64_t count = 0;   ///< samples
  };

  /// Of all iterations of the training loop, in seconds.
  struct timing {
    double mean = 0, median = 0, p99 = 0;
  };

  /// What workers did when they did nothing for this loader, in seconds summed over them.
  struct idle_times {
    double samples =
        0;  ///< as many samples as may be under way were waiting for something (reads, memory, …)
    double order = 0;  ///< the batches ahead were all begun, and the oldest was not ready yet
    double loop = 0;   ///< the batches ahead were ready: the training loop had not taken them
  };

  /// One worker. In seconds.
  struct worker {
    double busy = 0;       ///< with this loader's samples and batches
    double processor = 0;  ///< that it had, for whomever
  };

  /// Some iterations of the training loop, one after the other. Times are in seconds.
  struct timeline_piece {
    double begin = 0;              ///< of the first of them, since the report before
    double seconds = 0;            ///< until the end of the last
    std::uint64_t iterations = 0;  ///< how many
    double waiting = 0;            ///< for data, the mean of an iteration
    double longest_wait = 0;       ///< in one of them
    double step = 0;               ///< the rest of an iteration, the mean
    double ready = 0;              ///< batches that were ready where the loop took one, the mean
    double in_flight = 0;          ///< samples, the same
    double bytes = 0;              ///< of loader_options::memory, the same
  };

  double seconds = 0;          ///< since the report before
  double taking = 0;           ///< of these, while an epoch was being taken: from epoch() to its end
  std::size_t workers = 0;     ///< of the executor
  std::size_t io_threads = 0;  ///< of the executor
  std::size_t requests = 0;    ///< to servers, at a time; 0: none are asked
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
  double io_processor = 0;          ///< the same of the I/O threads
  double processor = 0;             ///< the same of the whole program
  double wait_mean = 0;             ///< share of the training loop's time spent waiting for data, 0 … 1
  double wait_median = 0;           ///< the same of the median iteration
  std::uint64_t iterations = 0;     ///< of the training loop
  timing waiting, iteration, step;  ///< of one iteration: waiting for data, all, the rest
  /// Of the step's time, 0 … 1: the loop's thread could run, and other threads had the processors. Its
  /// operations came to a device later by that.
  double step_delay = 0;
  idle_times idle;
  std::size_t memory_limit = 0;                  ///< loader_options::memory, in bytes
  std::size_t memory_used = 0, memory_peak = 0;  ///< of it now, and at most so far
  std::uint64_t filtered = 0;                    ///< samples that filter() has left out
  std::uint64_t failures = 0;                    ///< samples that could not be delivered
  std::vector<outcome> outcomes;                 ///< what became of them, and of those that a retry has saved
  std::vector<stage> stages;                     ///< in the order of the pipeline
  std::vector<worker> each_worker;
  std::vector<std::string> notes;        ///< what to do beside, a line each
  std::vector<timeline_piece> timeline;  ///< all iterations, in 256 pieces at most
  /// Where this report has fewer than 30 iterations, and those since the last verdict have 30 together: all
  /// since that verdict. advice() is of this then.
  std::shared_ptr<const report> since_verdict;

  /// Seconds of work in all stages, summed over workers.
  double busy() const noexcept;
  /// Share of the workers' time in which they worked for this loader, 0 … 1.
  double utilization() const noexcept { return share(worked, workers); }
  /// `some` of the time that `threads` had while an epoch was being taken, 0 … 1.
  double share(double some, std::size_t threads) const noexcept;
  double samples_per_second() const noexcept {
    return taking > 0 ? static_cast<double>(samples) / taking : 0.0;
  }
  /// The training loop waits for more than one hundredth of its time.
  bool stalled() const noexcept { return iterations != 0 && wait_mean > 0.01; }

  /// The throughput after a change, predicted from the measurements: `predict({.workers = 8})`. It runs a
  /// model of queues with the times that samples took. \throws std::invalid_argument when no stage has that
  /// name, or nothing was taken yet
  prediction predict(const what_if& changed) const;

  /// The bottleneck, and what removing it gives, in a few sentences. It is the change with the largest
  /// prediction; the training step where none gives 5 %. A verdict needs 30 iterations: reports with fewer
  /// are counted together until they have as many.
  std::string advice() const;
  /// All of it as text of at most 80 columns, advice() first, a line a stage: what `std::cout <<
  /// train.report()` prints.
  std::string to_string() const;
  /// The same as a JSON object: names as here, times in seconds.
  std::string to_json() const;
  /// The same as a page for a browser, with the timeline drawn. It is one file that needs no other:
  /// `std::ofstream("report.html") << train.report().to_html()`.
  std::string to_html() const;
  /// In Prometheus's text format (version 0.0.4), `labels` being added to each line: `rank="0"`.
  std::string to_prometheus(std::string_view labels = {}) const;
  /// Calls `to(name, value)` for each figure: "wick/wait", "wick/stage/decode/busy". For TensorBoard and its
  /// kin.
  template <class To>
  void scalars(To&& to) const {
    for (const auto& [name, value] : all_scalars()) to(std::string_view(name), value);
  }
  /// Writes it to standard error on rank 0; on others only if stalled(), with the rank before it. \returns
  /// whether it did
  bool print_if_stalled(std::size_t rank = 0) const;

 private:
  struct scalar {
    std::string name;
    double value;
  };
  std::vector<scalar> all_scalars() const;
};

namespace detail {
/// "12.3 ms", in three digits: the unit is chosen by what is printed, so 0.9999 s is "1.00 s".
std::string format_duration(double seconds);
/// "4.2 %", from a tenth on "42 %".
std::string format_percent(double share);
/// "16 MiB", in two digits from one KiB on.
std::string format_bytes(double bytes);
/// Of a terminal.
std::size_t columns(std::string_view text) noexcept;

/// "CPUs: ", "1.9 of 2 used"
struct report_line {
  std::string lead, text;
};
/// What the report says in sentences: the verdict, a summary, and more, `before` the table and behind it.
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
