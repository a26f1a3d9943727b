/// \file
/// A trace in Chrome's trace event format, written while the run goes on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <wick/system/detail/plain_file.hpp>
#include <wick/system/detail/process.hpp>
#include <wick/trace/detail/trace_lane.hpp>
#include <wick/trace/trace.hpp>

namespace wick::detail {

/// What a trace is of.
struct trace_subject {
  trace_lane* lanes = nullptr;  ///< one a slot: first the workers', then those of threads that help
  std::size_t slots = 0, workers = 0;
  std::vector<std::string> stages;  ///< their names, by row
  std::size_t last = 0;             ///< the row in which a sample's way ends
  std::uint64_t positions = 1;      ///< of an epoch
  const void* source = nullptr;
  std::string (*key)(const void* source, std::uint64_t index) = nullptr;
};

/// Batches that lie ready, samples and bytes that are under way.
struct queue_depths {
  std::uint64_t ready = 0, samples = 0, bytes = 0;
};

/// Of a batch that was taken. Times in ticks.
struct traced_batch {
  std::uint64_t sequence = 0, epoch = 0, number = 0, samples = 0;
  std::uint64_t opened = 0, published = 0, taken = 0;
};

/// By the consumer alone. Events are written in JSON's array format, one a line, in pieces of whole lines, of
/// which each replaces the bracket that closed the one before: the file is JSON at any time, and when the
/// disk is full or the process was killed. Times are those of PyTorch's profiler: microseconds since the same
/// quarter's beginning, by the clock of the wall as it was when the trace began.
class trace_file {
 public:
  /// \throws wick::error when there can be no such file
  trace_file(std::string path, const trace_options& options, trace_subject of);
  trace_file(const trace_file&) = delete;
  trace_file& operator=(const trace_file&) = delete;
  ~trace_file() { end(); }

  /// The loop has done its step, and then waited until now. In ticks.
  void iteration(std::uint64_t step, std::uint64_t wait, std::uint64_t now) noexcept;
  void took(const traced_batch& b) noexcept;
  /// What has come by now is written down, if it is time. \returns the ticks that this has taken
  std::uint64_t look(const queue_depths& d) noexcept;
  /// Writes all that is left, and closes the file.
  void end() noexcept;
  /// What is to be said of it; nothing when all is well.
  std::string note() const;
  const std::string& path() const noexcept { return path_; }

 private:
  // Of a loader: the loop, its workers and helpers, then its I/O threads.
  static constexpr std::uint64_t tracks = 4096, io_tracks = 2048;
  struct pair {
    std::uint64_t ticks, nanoseconds;
  };
  static pair now() noexcept;
  std::uint64_t nanoseconds(std::uint64_t ticks) const noexcept;

  void drain(const queue_depths* d);
  void choose_every(std::uint64_t spans, std::uint64_t now) noexcept;
  void span(const trace_span& s, std::size_t slot);
  void batch(const traced_batch& b);
  bool flows(const trace_span& s) const noexcept;
  std::vector<std::uint64_t> ended_flows() const;
  void flow(char phase, const trace_span& s, std::uint64_t tid, std::uint64_t at);
  void complete(std::string_view name, std::string_view category, std::uint64_t tid, std::uint64_t begun,
                std::uint64_t ended);
  void async(char phase, std::string_view name, std::string_view category, std::uint64_t id,
             std::uint64_t at);
  void counter(std::string_view name, std::uint64_t at, std::uint64_t value);
  void name_thread(std::uint64_t tid, std::string_view name, std::size_t number, bool numbered);
  void about(std::string_view name);
  void place(std::uint64_t tid);
  void time(std::string_view name, std::uint64_t nanoseconds);
  void number(std::string_view name, std::uint64_t value);
  std::uint64_t id_of(const trace_span& s) const noexcept;
  bool full() const noexcept;
  bool write_at(std::uint64_t at, std::string_view text) noexcept;
  void flush() noexcept;
  void stop_following() noexcept;

  std::string path_;
  const trace_options options_;
  const trace_subject of_;
  const process_mark born_;
  file_handle file_;
  std::uint64_t process_ = 0, first_thread_ = 0, first_id_ = 0;
  std::uint64_t base_ = 0,
                offset_ = 0;         // of the times in the file, in ns since 1970; that of the steady clock
  std::vector<pair> clocks_;         // read together: ticks between two are interpolated
  std::vector<std::string> quoted_;  // the stages' names
  std::vector<char> named_;          // which tracks have a name

  struct laid_out {
    trace_span span;
    std::size_t slot;
  };
  struct iteration_times {
    std::uint64_t step, wait, end;
  };
  std::vector<laid_out> spans_;
  std::vector<iteration_times> iterations_;
  std::vector<traced_batch> batches_;
  std::vector<std::uint64_t> flows_;  // that have begun and not ended, by rising number
  std::string text_;
  std::uint64_t begun_ = 0, next_ = 0;  // ticks
  std::uint64_t written_ = 0;           // bytes of the file
  std::uint64_t events_ = 0, left_out_ = 0;
  std::uint32_t every_ = 1;
  std::uint64_t window_ = 0, in_window_ = 0, dropped_ = 0;  // from which every_ follows
  bool following_ = false, ended_ = false, full_ = false;
  int fault_ = 0;
};

}  // namespace wick::detail
