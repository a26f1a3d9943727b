// The work of a loader that doesn't depend on the type of its batches: it saves its place, resumes, changes
// weights, and reports.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <wick/async/executor.hpp>
#include <wick/base/detail/owned.hpp>
#include <wick/batch/epoch_fingerprint.hpp>
#include <wick/failures/failure_log.hpp>
#include <wick/loader/detail/loader_shell.hpp>
#include <wick/profile/report.hpp>
#include <wick/profile/trace.hpp>
#include <wick/sampling/mix.hpp>

namespace wick::inline v0_1 {

/// The part of a wick::loader<Batch> that doesn't depend on its batches. A function that reports, saves, or
/// resumes any loader takes a `loader_base&`.
class loader_base {
 public:
  /// False when it is empty.
  explicit operator bool() const noexcept { return static_cast<bool>(mine_); }

  /// Plans everything again, with the source's present size and weights, which may have changed. Prefetched
  /// batches are dropped, an epoch that is under way ends where it is, and from now on no epoch begins ahead.
  /// If the source's fingerprint has changed, earlier bad samples, and those of quarantine files, no longer
  /// count: their indexes may be those of other samples. An epoch may be a round of k batches (weighted's
  /// `samples`, take()): see the guide changing_data.
  /// \throws wick::error when a loader of the present data couldn't be made, or couldn't resume a loaded
  /// state: the loader gives nothing until a later call succeeds
  /// \throws std::logic_error on a worker of the loader's executor while batches are under way
  void refresh();

  /// Changes weights of a mix() that no stage but shard() orders: `train.set_mix_weights({{"web", 0.5},
  /// {"books", 0}})`. They count from the next epoch that begins. Other weights stay as they are, and the
  /// epoch under way keeps its own. The weights are part of the state. They also determine where an epoch
  /// ends: see batches(). With several ranks, change them on each rank in the same epoch. See the guide
  /// changing_mixture. \throws wick::error for weights that make no sense, or that would make an epoch empty;
  /// nothing has changed then
  void set_mix_weights(const std::vector<source_weight>& weights);
  /// The weights of the next batch.
  std::vector<source_weight> mixture() const;

  /// The place of the training, in at most 4 KiB: after the last batch (without batch(): the last sample)
  /// that was handed over. Prefetched batches are neither lost nor repeated. After the last batch of an
  /// epoch, it is the beginning of the next one. Write it into the model's checkpoint, or into a file of its
  /// own with write_state(). With batch(), it is the same on every rank except for the failures it counts.
  /// Without batch(), ranks may be at different samples: each saves and loads its own state.
  std::vector<std::byte> state() const;
  /// Resumes from a state, on any number of workers and ranks with the same global batch: the next
  /// epoch(current_epoch()) or next() begins with the batch after it. No earlier batch is made again.
  /// \throws wick::error when the state is damaged, or belongs to another data set, pipeline, seed, global
  /// batch, or, without batch(), rank; nothing has changed then
  void load_state(std::span<const std::byte> bytes);
  /// The epoch being delivered (the finished epoch, until another one begins), or the one in which a loaded
  /// state resumes: `for (auto e = train.current_epoch(); e < 90; ++e)`.
  std::uint64_t current_epoch() const;
  /// The epoch that begin() begins.
  std::uint64_t next_epoch() const;

  /// Makes batch `batch` of `epoch`, both counted from 0, the next one: `train.seek(3, 40); auto b =
  /// train.next();`, or a loop over epoch(3), which begins there. A second loader and seek() make any batch
  /// of a training again, with the same bytes, and with_index() before batch() says which samples are in it:
  /// see the guide seek. Without batch(), `batch` is a position in the epoch, over all ranks, and the next
  /// sample is this rank's first one from there on. Counts of failures for error_options::rate begin again.
  /// \throws wick::error when the epoch has no such batch, or can't be planned; nothing has changed then
  void seek(std::uint64_t epoch, std::uint64_t batch);

  /// The number of batches in the epoch, which set_mix_weights() may change. Without batch(), the number of
  /// groups of samples, which only the loader sees.
  std::uint64_t batches() const;
  /// The number of samples in those batches, over all ranks, without those that `drop_last` leaves out, and
  /// with those that `pad_last` repeats. Samples that fail or are filtered count. With pack(), it is the
  /// number of pieces, including those of rows that `drop_last` leaves out, which change from epoch to epoch.
  std::uint64_t samples() const;
  /// The executor it runs on: loader_options::executor, or its own.
  executor& on();
  /// Samples that filter() has left out in this training so far.
  std::uint64_t filtered() const;
  /// All failures reported so far.
  const wick::failure_log& failure_log() const;
  /// The delivered samples of an epoch since it was begun or resumed: see epoch_fingerprint. It is kept for
  /// the last 64 epochs, and zero for others.
  epoch_fingerprint fingerprint(std::uint64_t epoch) const;
  /// Replaces the file at `path` with a list of the samples (a million at most) that failed here, or that the
  /// loader's quarantine files name, for a later run's loader_options::quarantine. Failures of memory,
  /// shapes, batch stages, disks, and servers aren't in it. \throws wick::error when it can't be written
  void write_quarantine(const std::string& path) const;
  /// Blocks of batch memory allocated so far; constant once the pipeline is warm.
  std::uint64_t slab_allocations() const;
  /// The most encoded bytes that were in flight at one time, with up to 256 KiB that each worker keeps ready
  /// when samples are many and small.
  std::size_t peak_bytes_in_flight() const;

  /// Everything since the last report: the time of each stage, the share of waiting, and what to change.
  wick::report report();
  /// Writes a trace for Perfetto until stop_trace(), the next trace(), or the loader's end; see the guide
  /// tracing. \throws wick::error when the file can't be written; if that fails later, report() has a note
  void trace(const std::string& path, trace_options how = {});
  /// Writes the rest of the trace and closes the file.
  void stop_trace();

 protected:
  loader_base() = default;
  loader_base(loader_base&&) = default;
  loader_base& operator=(loader_base&&) = default;
  ~loader_base() = default;
  /// \throws std::logic_error when it is empty
  detail::loader_shell& shell() const {
    if (!mine_) detail::refuse_empty_loader();
    return *mine_;
  }

  detail::owned<detail::loader_shell> mine_;

 private:
  detail::loader_core& core() const;
};

}  // namespace wick
