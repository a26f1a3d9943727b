/// \file
/// What a loader does whatever its batches are: saves its place, resumes, changes weights, reports.
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
#include <wick/loader/detail/loader_core.hpp>
#include <wick/profile/report.hpp>
#include <wick/profile/trace.hpp>
#include <wick/sampling/mix.hpp>

namespace wick::inline v0_1 {

/// The part of a wick::loader<Batch> that doesn't depend on its batches. A function that
/// reports, saves, or resumes any loader takes a `loader_base&`.
class loader_base {
 public:
  /// False when it is empty.
  explicit operator bool() const noexcept { return static_cast<bool>(mine_); }

  /// The source's size and its weights may have changed: plans all again over their present values.
  /// Prefetched batches are dropped, an epoch that is under way ends where it stands, and from now on none is
  /// begun ahead. Where the source has another fingerprint, bad samples of before, and those of quarantine
  /// files, count no more: their indexes may be those of other samples. An epoch may be a round of k batches
  /// (weighted's `samples`, take()): see the guide changing_data.
  /// \throws wick::error where a loader of the present data couldn't be made, or couldn't resume a loaded
  /// state: the loader gives nothing until a later call succeeds
  /// \throws std::logic_error on a worker of the loader's executor while batches are under way
  void refresh() { core().refresh(); }

  /// Changes weights of a mix() that nothing but shard() orders: `train.set_mix_weights({{"web", 0.5},
  /// {"books", 0}})`, from the next epoch on that begins. Other weights stay as they are, and the epoch under
  /// way keeps its own. The weights are part of the state. An epoch ends where its weights have it end: see
  /// batches(). On several ranks, change them on each in the same epoch.
  /// See the guide changing_mixture. \throws wick::error for weights that make no sense, or with which an
  /// epoch would be empty; nothing has changed then
  void set_mix_weights(const std::vector<source_weight>& weights) { core().set_mix_weights(weights); }
  /// The weights of the next batch.
  std::vector<source_weight> mixture() const { return core().mixture(); }

  /// Where the training stands: behind the last batch (without batch(): the last sample) that was handed
  /// over, in at most 4 KiB. Prefetched batches are neither lost nor repeated. Behind the last batch of an
  /// epoch that is the beginning of the next one. Write it into the model's checkpoint, or with write_state()
  /// into a file of its own. With batch() it is the same on every rank but for the failures it counts.
  /// Without batch() ranks may stand at different samples: each saves and loads its own.
  std::vector<std::byte> state() const { return core().state(); }
  /// Resumes from a state, on any number of workers and ranks with the same global batch: the next
  /// epoch(current_epoch()) or next() begins with the batch behind it. No batch before it is made again.
  /// \throws wick::error when it is damaged, or of another data set, pipeline, seed, global batch or, without
  /// batch(), rank; nothing has changed then
  void load_state(std::span<const std::byte> bytes) { core().load_state(bytes); }
  /// The epoch being delivered (to its end, until another one is begun), or the one in which a loaded state
  /// resumes: `for (auto e = train.current_epoch(); e < 90; ++e)`.
  std::uint64_t current_epoch() const { return core().current_epoch(); }
  /// The epoch that begin() begins.
  std::uint64_t next_epoch() const { return core().next_epoch(); }

  /// The next batch is batch `batch` of `epoch`, both counted from 0: `train.seek(3, 40); auto b =
  /// train.next();`, or a loop over epoch(3), which begins there. A second loader and seek() make any batch
  /// of a training again, with the same bytes, and before batch() with_index() says which samples are in it:
  /// see the guide seek. Without batch() `batch` is a position in the epoch, over all ranks; the next
  /// sample is the first one of this rank from there on. Counts of failures for error_options::rate begin
  /// again. \throws wick::error when the epoch has no such batch, or can't be planned; nothing has changed
  /// then
  void seek(std::uint64_t epoch, std::uint64_t batch) { core().seek(epoch, batch); }

  /// The number of batches in the epoch, which set_mix_weights() may change. Without batch(): of groups of
  /// samples that only the loader sees.
  std::uint64_t batches() const { return core().batches(); }
  /// The number of samples in those batches, over all ranks: less by what `drop_last` leaves out, more by
  /// what `pad_last` repeats. Samples that fail or are filtered count. With pack() it is the number of
  /// pieces, including those of rows that `drop_last` leaves out, which change from epoch to epoch.
  std::uint64_t samples() const { return core().samples(); }
  /// Where it runs: loader_options::executor, or its own.
  executor& on() { return core().on(); }
  /// Samples that filter() has left out in this training so far.
  std::uint64_t filtered() const { return core().filtered(); }
  /// All failures reported so far.
  const wick::failure_log& failure_log() const { return core().failure_log(); }
  /// The delivered samples of an epoch since it was begun or resumed: see epoch_fingerprint. Of the last 64
  /// epochs; zero for others.
  epoch_fingerprint fingerprint(std::uint64_t epoch) const { return core().fingerprint(epoch); }
  /// Replaces the file at `path` by a list of the samples (a million at most) that failed here, or that the
  /// loader's quarantine files name, for a later run's loader_options::quarantine. Failures of memory,
  /// shapes, batch stages, disks, and servers aren't in it. \throws wick::error when it can't be written
  void write_quarantine(const std::string& path) const { core().write_quarantine(path); }
  /// Blocks of batch memory allocated so far; constant once the pipeline is warm.
  std::uint64_t slab_allocations() const { return core().slab_allocations(); }
  /// The most encoded bytes that were in flight at a time.
  std::size_t peak_bytes_in_flight() const { return core().peak_bytes_in_flight(); }

  /// Everything since the last report: time a stage, share of waiting, what to change.
  wick::report report() { return core().report(); }
  /// Writes a trace for Perfetto until stop_trace(), the next trace() or the loader's end; see the guide
  /// tracing. \throws wick::error when the file can't be written; where that fails later, report() has a note
  void trace(const std::string& path, trace_options how = {}) { core().trace(path, how); }
  /// Writes the rest of the trace, and closes the file.
  void stop_trace() { core().stop_trace(); }

 protected:
  loader_base() = default;
  loader_base(loader_base&&) = default;
  loader_base& operator=(loader_base&&) = default;
  ~loader_base() = default;
  /// \throws std::logic_error when it is empty
  detail::loader_core& core() const {
    if (!mine_) detail::refuse_empty_loader();
    return *mine_;
  }

  detail::owned<detail::loader_core> mine_;
};

}  // namespace wick
