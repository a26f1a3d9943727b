/// \file
/// The loader: what a training program holds. It runs a pipeline and gives batches, epoch after epoch, in
/// order.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <utility>

#include <wick/async/executor.hpp>
#include <wick/async/task.hpp>
#include <wick/base/detail/owned.hpp>
#include <wick/failures/on_error.hpp>
#include <wick/loader/detail/epoch_range.hpp>
#include <wick/loader/detail/loader_of.hpp>
#include <wick/loader/detail/own_executor.hpp>
#include <wick/loader/detail/pipeline_types.hpp>
#include <wick/loader/detail/typed_pipeline.hpp>
#include <wick/loader/loader_base.hpp>
#include <wick/loader/loader_options.hpp>
#include <wick/pipeline/detail/feeds_device.hpp>
#include <wick/pipeline/pipeline.hpp>

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
class loader : public loader_base {
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
      mine_ = detail::owned<detail::loader_core>(
          new detail::loader_of<Batch>(std::move(own), std::move(typed), options));
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

 private:
  detail::loader_of<Batch>& core() const {
    return static_cast<detail::loader_of<Batch>&>(loader_base::core());
  }
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
