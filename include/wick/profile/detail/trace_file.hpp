// A trace in Chrome's trace event format, written while the loader runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <wick/base/detail/process.hpp>
#include <wick/io/detail/plain_file.hpp>
#include <wick/pipeline/detail/trace_lane.hpp>
#include <wick/profile/trace.hpp>

namespace wick::inline v0_1::detail {

/// The loader that a trace follows.
struct trace_subject {
  trace_lane* lanes = nullptr;  ///< one for each slot: workers, then helping threads
  std::size_t slots = 0, workers = 0, io_threads = 0;
  std::vector<std::string> stages;  ///< names, by row
  std::size_t first = 0, last = 0;  ///< the rows where a sample begins and ends
  std::uint64_t positions = 1;      ///< in an epoch
  const void* source = nullptr;
  std::string (*key)(const void* source, std::uint64_t index) = nullptr;
};

/// Batches that are ready, and samples and bytes in flight; `at` is when that was, in the file's time.
struct queue_depths {
  std::uint64_t ready = 0, samples = 0, bytes = 0, at = 0;
};

/// A delivered batch. Times are in ticks.
struct traced_batch {
  std::uint64_t sequence = 0, epoch = 0, number = 0, samples = 0;
  std::uint64_t opened = 0, published = 0, taken = 0;
};

/// For the consumer only. The file is a JSON array with one event a line. Each write replaces the closing
/// bracket, so the file is always complete. Times are those of PyTorch's profiler: microseconds since the
/// beginning of the quarter, by the system's clock at the trace's start.
class trace_file {
 public:
  /// \throws wick::error when the file can't be written, or when the options make no sense
  trace_file(std::string path, const trace_options& options, trace_subject of);
  trace_file(const trace_file&) = delete;
  trace_file& operator=(const trace_file&) = delete;
  ~trace_file() { end(); }

  /// The loop began its step and then its wait at these ticks, and has a batch now.
  void iteration(std::uint64_t step, std::uint64_t wait, std::uint64_t now) noexcept;
  /// Whether this iteration's batch needs took() and look().
  bool follows_batch() const noexcept { return follows_batch_; }
  void took(const traced_batch& b) noexcept;
  /// Writes the events since the last call, if some milliseconds have passed. \returns the ticks that it took
  std::uint64_t look(queue_depths depths) noexcept;
  /// Writes the rest, and closes the file.
  void end() noexcept;
  /// For the report: why the trace is incomplete. Empty if it is complete.
  std::string note() const;

 private:
  // For each loader: the loop, its workers and helpers, then its I/O threads.
  static constexpr std::uint64_t tracks = 4096, io_tracks = 2048;
  struct reading {
    std::uint64_t ticks, nanoseconds;
  };
  struct laid_out {
    trace_span span;
    std::size_t slot;
  };
  struct iteration_times {
    std::uint64_t step, wait, end;
  };

  static reading read_clocks() noexcept;
  std::uint64_t nanoseconds(std::uint64_t ticks) const noexcept;
  std::uint64_t id_of(const trace_span& s) const noexcept;
  std::uint64_t dropped() const noexcept;

  void drain(queue_depths* depths);
  void choose_every(std::uint64_t now) noexcept;
  void choose_every_batch(std::uint64_t now) noexcept;
  template <class What>
  void add(const What& what);
  void write(const laid_out& of);
  void write(const iteration_times& of);
  void write(const traced_batch& of);
  void write(const queue_depths& of);
  template <class... T>
  void event(std::string_view phase, std::string_view name, std::string_view category, std::uint64_t track,
             std::uint64_t at, const T&... rest);
  void name_track(std::uint64_t track, std::string_view name);
  void name_io_threads(std::size_t count);
  void begin_about(std::string_view name);
  void flush();
  bool write_at(std::uint64_t at, std::string_view text) noexcept;
  void stop_following() noexcept;

  const std::string path_;
  const trace_options options_;
  const trace_subject of_;
  const process_mark born_;
  file_handle file_;
  std::uint64_t process_ = 0, first_thread_ = 0, first_id_ = 0;
  std::size_t io_named_ = 0;  // I/O threads with named tracks
  std::uint64_t base_ = 0,
                offset_ = 0;        // in ns: file time 0 since 1970; steady clock + offset_ = file time
  std::vector<reading> clocks_;     // ticks in between are interpolated
  std::vector<std::string> names_;  // of the stages, as JSON

  std::vector<laid_out> spans_;
  std::vector<iteration_times> iterations_;
  std::vector<traced_batch> batches_;
  std::string text_;                  // not yet written
  std::uint64_t written_ = 0;         // bytes in the file, without the closing bracket
  std::uint64_t begun_ = 0;           // ticks
  std::uint64_t next_ = 0;            // when look() writes again, in ns of the steady clock
  std::uint64_t dropped_before_ = 0;  // by the previous trace
  std::uint32_t every_;
  std::uint64_t window_ = 0, in_window_ = 0, dropped_ = 0;  // choose_every()'s start (ns), spans, drops
  // Iterations: all, those followed in the window, its start (ns), and one in how many is followed.
  std::uint64_t loops_ = 0, loops_in_window_ = 0, loop_window_ = 0, every_batch_ = 1;
  bool following_ = false, full_ = false, follows_batch_ = false;
  int fault_ = 0;
};

}  // namespace wick::detail
