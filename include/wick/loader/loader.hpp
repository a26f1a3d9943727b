// The loader, the object that a training program holds. It runs a pipeline and gives batches in order, epoch
// after epoch.
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

/// Runs a pipeline. Workers, pools, open files, and the user's stages live as long as the loader. Nothing is
/// torn down between epochs, and the next epoch's first batches are made while the last of this one are
/// consumed.
///
/// Its type names the value that an epoch gives, not how it is made: `wick::loader<Batch>`. Batch is the
/// output of the pipeline's last stage, or a sample if the pipeline has no batch(). The compiler deduces it
/// from the pipeline, `wick::loader train(pipeline, options)`. Write it out where a loader is a member, an
/// element of a std::vector, or one of several pipelines. A loader that was default-constructed or moved from
/// is empty: its functions throw std::logic_error until another loader is assigned to it.
///
/// One thread (or one coroutine) takes the batches and calls the other members. Taking batches on two at the
/// same time throws std::logic_error (not checked within a group of 16 samples without batch()). The content
/// of a batch depends on the data, the pipeline, the seed, the epoch, and the batch's number, never on
/// workers or timing. loader_options::on_error decides how a failing sample is handled. Without a rule there,
/// taking its batch throws wick::sample_error, and the next call takes the batch after it. Destroying a
/// loader in the middle of an epoch is prompt: work that has begun ends, and no other work begins. A
/// coroutine that waits in next_async() is using the loader, as a thread in next() is: let it continue first.
template <class Batch>
class loader : public loader_base {
 public:
  /// The type that an epoch gives: a batch (wick::sample of tensors for a source of samples), or a sample
  /// when the pipeline has no batch().
  using value_type = Batch;

  loader() = default;
  /// \throws wick::error when an epoch would be empty, when on_error asks for something that this pipeline
  /// can't do, when both workers and an executor are given, or when a failure log or quarantine file can't be
  /// opened or belongs to another data set
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
      mine_ = detail::owned<detail::loader_shell>(
          new detail::loader_of<Batch>(std::move(own), std::move(typed), options));
    }
  }
  /// For a pipeline with a stage that doesn't fit: the compiler has reported it.
  template <class Other>
    requires(std::is_same_v<Other, detail::misfit_source::item> && !std::is_same_v<Batch, Other>)
  loader(loader<Other>) {}  // NOLINT(google-explicit-constructor)

  /// A source without a stage: gives its items, one after another.
  template <ext::source Source>
  explicit loader(Source what, loader_options options = {})
      : loader(pipeline<Source>{std::move(what), {}}, std::move(options)) {}
  /// For a type that is almost a source: the compiler says what is wrong.
  template <detail::almost_source Source>
  explicit loader(const Source&, const loader_options& = {}) {
    detail::check_source<Source>();
  }

  /// A single-pass range: its iterators take batches as they advance, and its next() takes them without
  /// iterators.
  using epoch_range = detail::epoch_range<Batch>;
  /// Begins an epoch: `for (auto& batch : train.epoch(e))`. If it follows the previous epoch, its first
  /// batches are ready already; otherwise, the prefetched batches are dropped. An epoch that was left early
  /// starts again. A range throws std::logic_error once another epoch() has been called. The epoch of a
  /// loaded state resumes at the state's place, once; beginning another epoch instead discards the state. May
  /// be called on a worker, too: next_async() then waits for dropped batches to end.
  /// \throws wick::error when the source's size has changed since the loader was made or last refreshed;
  /// the loader is unchanged then
  template <std::integral Number>
  epoch_range epoch(Number e) {
    typed().epoch(static_cast<std::uint64_t>(e));
    return epoch_range(typed());
  }
  /// `for (auto& batch : train)`: epoch 0, or the rest of the epoch of a loaded state; after that, the epoch
  /// after the last one begun, finished or not.
  typename epoch_range::iterator begin() { return epoch(next_epoch()).begin(); }
  std::default_sentinel_t end() const noexcept { return {}; }

  /// The next batch of the epoch, or nothing at its end. Starts with epoch 0 if none was begun.
  /// \throws wick::sample_error when one of its samples failed and on_error has no other action,
  /// wick::too_many_errors at a limit of on_error; the next call continues after that batch
  /// \throws std::logic_error on a worker or an I/O thread of the loader's executor, which must not block
  /// (also in a stage of any loader on that executor): use next_async(); and while another thread or
  /// coroutine is using the loader
  std::optional<Batch> next() { return typed().next_value(); }
  /// The same, but asks `keep` about ten times a second whether to wait: `next([] { return !stopped; })`.
  /// \throws wick::cancelled when it returns false; the next call waits for the same batch
  template <std::predicate Keep>
  std::optional<Batch> next(Keep keep) {
    return typed().next_value_while(keep);
  }
  /// The same for a coroutine: `auto batch = co_await train.next_async();`. Continues on a worker.
  task<std::optional<Batch>> next_async() { return detail::loader_of<Batch>::next_value_async(&typed()); }

 private:
  detail::loader_of<Batch>& typed() const { return static_cast<detail::loader_of<Batch>&>(shell()); }
};

template <class Source, class... S>
loader(pipeline<Source, S...>, loader_options)
    -> loader<typename detail::pipeline_types<Source, S...>::delivered>;
template <class Source, class... S>
loader(pipeline<Source, S...>) -> loader<typename detail::pipeline_types<Source, S...>::delivered>;

template <ext::source Source>
loader(Source, loader_options) -> loader<typename detail::delivered_by<Source>::type>;
template <ext::source Source>
loader(Source) -> loader<typename detail::delivered_by<Source>::type>;
template <detail::almost_source Source>
loader(Source, loader_options = {}) -> loader<detail::misfit_source::item>;

/// Stages without a source: a mistake that gets a single message.
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
