/// \file
/// The loader: what a training program holds. It runs a pipeline and gives batches, epoch after epoch, in
/// order.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <wick/async/executor.hpp>
#include <wick/async/task.hpp>
#include <wick/base/detail/owned.hpp>
#include <wick/batch/epoch_fingerprint.hpp>
#include <wick/failures/failure_log.hpp>
#include <wick/failures/on_error.hpp>
#include <wick/loader/detail/epoch_range.hpp>
#include <wick/loader/detail/loader_of.hpp>
#include <wick/loader/detail/own_executor.hpp>
#include <wick/loader/detail/pipeline_types.hpp>
#include <wick/loader/detail/typed_pipeline.hpp>
#include <wick/loader/loader_options.hpp>
#include <wick/pipeline/detail/feeds_device.hpp>
#include <wick/pipeline/pipeline.hpp>
#include <wick/profile/report.hpp>
#include <wick/profile/trace.hpp>

namespace wick::inline v0_1 {

/// Runs a pipeline. Workers, pools, open files and the user's stages live as long as this; nothing is torn
/// down between epochs, and the next epoch's first batches are made while the last of this one are consumed.
///
/// Its type says what an epoch gives, not how it is made: `wick::loader<Batch>`, where Batch is what the
/// pipeline's last stage gives; for a pipeline without batch() a sample. It is deduced where the pipeline is
/// known, `wick::loader train(pipeline, options)`, and written down where a loader is a member, an element of
/// a std::vector, or one of several pipelines. A loader that was default-constructed or moved from is empty:
/// its functions throw std::logic_error until it is assigned another.
///
/// One thread (or one coroutine) takes the batches and calls the other members; taking on two at the same
/// time throws std::logic_error (not checked within a group of 16 samples without batch()). The content of a
/// batch depends on the data, the pipeline, the seed, the epoch and the batch's number, never on workers or
/// timing. loader_options::on_error decides what becomes of a failing sample. Without a rule there, taking
/// its batch throws wick::sample_error; the next call takes the batch after it. Destroying a loader in the
/// middle of an epoch is prompt: what has begun ends, nothing else is begun. A coroutine that waits in
/// next_async() is using it, as a thread in next() is: let it continue first.
template <class Batch>
class loader {
 public:
  /// What an epoch gives: a batch (wick::sample of tensors for a source of samples), or a sample when the
  /// pipeline has no batch().
  using value_type = Batch;

  loader() = default;
  /// \throws wick::error when an epoch would be empty, when on_error can't be done with this pipeline, when
  /// workers are given beside an executor, or when a failure log or quarantine file can't be opened or is of
  /// another data set
  template <class Source, class... S>
  explicit loader(pipeline<Source, S...> what, loader_options options = {}) {
    using made = typename detail::pipeline_types<Source, S...>::delivered;
    static_assert(std::is_same_v<made, Batch> || detail::is_misfit<Source>,
                  "wick: this pipeline gives something else than this loader ('made' and 'Batch'); write "
                  "wick::loader without <…>, or the type of what its last stage gives");
    if constexpr (std::is_same_v<made, Batch>) {
      detail::owned<executor> own = detail::own_executor(options, detail::feeds_device(what.stages));
      executor& on = own ? *own : *options.executor;
      detail::owned<detail::pipeline_of<Batch>> typed(
          new detail::typed_pipeline<pipeline<Source, S...>>(std::move(what), on, options.batch_memory));
      mine_ = detail::make_owned<detail::loader_of<Batch>>(std::move(own), std::move(typed), options);
    }
  }
  /// Of a pipeline in which a stage doesn't fit: the compiler has said so.
  template <class Other>
    requires(std::is_same_v<Other, detail::misfit_source::item> && !std::is_same_v<Batch, Other>)
  loader(loader<Other>) {}  // NOLINT(google-explicit-constructor)

  /// A source as it is, without a stage: its items, one after the other.
  template <source Source>
  explicit loader(Source what, loader_options options = {})
      : loader(pipeline<Source>{std::move(what), {}}, std::move(options)) {}
  /// Of almost a source: the compiler says what is wrong.
  template <detail::almost_source Source>
  explicit loader(const Source&, const loader_options& = {}) {
    detail::check_source<Source>();
  }

  /// False when it is empty.
  explicit operator bool() const noexcept { return static_cast<bool>(mine_); }

  /// A range for one pass: its iterators take batches as they advance, its next() without them.
  using epoch_range = detail::epoch_range<Batch>;
  /// Begins an epoch: `for (auto& batch : train.epoch(e))`. When it follows the one before, its first batches
  /// are ready already; else the prefetched batches are dropped. An epoch that was left early starts again. A
  /// range throws std::logic_error once another epoch() was called. The epoch of a loaded state resumes where
  /// the state stands, once; asking for another one instead forgets the state. May be called on a worker,
  /// too: there next_async() waits for dropped batches to end.
  /// \throws wick::error when the source has another size than when the loader was made; nothing has changed
  /// then
  template <std::integral Number>
  epoch_range epoch(Number e) {
    core().epoch(static_cast<std::uint64_t>(e));
    return epoch_range(core());
  }
  /// `for (auto& batch : train)`: epoch 0, or what is left of the epoch of a state that was loaded; after
  /// that the epoch after the one before, to whose end that need not have come.
  typename epoch_range::iterator begin() { return epoch(next_epoch()).begin(); }
  std::default_sentinel_t end() const noexcept { return {}; }

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

  /// The next batch of the epoch, or nothing at its end. Starts with epoch 0 if none was begun.
  /// \throws wick::sample_error when a sample of it failed and on_error doesn't say what else to do,
  /// wick::too_many_errors at a limit of on_error; the next call continues behind it
  /// \throws std::logic_error on a worker or an I/O thread of the loader's executor, which must not block (in
  /// a stage of any loader on it, too): use next_async(); and while another thread or coroutine is in it
  std::optional<Batch> next() { return core().next_value(); }
  /// The same, and asks `keep` about ten times a second whether to wait on: `next([] { return !stopped; })`.
  /// \throws wick::cancelled when it returns false; the next call waits for the same batch
  template <std::predicate Keep>
  std::optional<Batch> next(Keep keep) {
    return core().next_value_while(keep);
  }
  /// The same for a coroutine: `auto batch = co_await train.next_async();`. Continues on a worker.
  task<std::optional<Batch>> next_async() { return detail::loader_of<Batch>::next_value_async(&core()); }

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

 private:
  detail::loader_of<Batch>& core() const {
    if (!mine_) detail::refuse_empty_loader();
    return *mine_;
  }

  detail::owned<detail::loader_of<Batch>> mine_;
};

template <class Source, class... S>
loader(pipeline<Source, S...>, loader_options)
    -> loader<typename detail::pipeline_types<Source, S...>::delivered>;
template <class Source, class... S>
loader(pipeline<Source, S...>) -> loader<typename detail::pipeline_types<Source, S...>::delivered>;

template <source Source>
loader(Source, loader_options) -> loader<typename detail::delivered_by<Source>::type>;
template <source Source>
loader(Source) -> loader<typename detail::delivered_by<Source>::type>;
template <detail::almost_source Source>
loader(Source, loader_options = {}) -> loader<detail::misfit_source::item>;

/// A mistake, and one message: stages without a source.
template <class... S>
class loader<detail::chain<S...>> : public loader<int> {
  static_assert(sizeof...(S) == ~std::size_t{0},
                "wick: a loader needs a source, and this is a chain of stages; write loader(source | chain)");

 public:
  explicit loader(detail::chain<S...>, const loader_options& = {}) {}
};
template <class... S>
loader(detail::chain<S...>, loader_options) -> loader<detail::chain<S...>>;
template <class... S>
loader(detail::chain<S...>) -> loader<detail::chain<S...>>;

}  // namespace wick
