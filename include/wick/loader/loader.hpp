/// \file
/// The loader: what a training program holds. It runs a pipeline and gives batches, epoch after epoch, in
/// order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <wick/failure/detail/error_account.hpp>
#include <wick/failure/ledger.hpp>
#include <wick/failure/on_error.hpp>
#include <wick/failure/quarantine.hpp>
#include <wick/loader/detail/batch_delivery.hpp>
#include <wick/loader/detail/delivery.hpp>
#include <wick/loader/detail/loader_edits.hpp>
#include <wick/loader/detail/loader_place.hpp>
#include <wick/loader/detail/loader_report.hpp>
#include <wick/loader/detail/own_executor.hpp>
#include <wick/loader/detail/sample_delivery.hpp>
#include <wick/observe/report.hpp>
#include <wick/pipeline/detail/epoch_range.hpp>
#include <wick/pipeline/pipeline.hpp>
#include <wick/receipt/detail/loader_replay.hpp>
#include <wick/receipt/receipt.hpp>
#include <wick/resume/epoch_fingerprint.hpp>
#include <wick/resume/mixture.hpp>
#include <wick/resume/state.hpp>
#include <wick/run/detail/single_user.hpp>
#include <wick/run/executor.hpp>
#include <wick/sample/error.hpp>
#include <wick/schedule/detail/feed.hpp>
#include <wick/schedule/loader_options.hpp>
#include <wick/system/detail/owned.hpp>
#include <wick/trace/trace.hpp>

namespace wick {

template <class Pipeline>
class loader;

/// Runs a pipeline. Workers, pools, open files and the user's stages live as long as this; nothing is torn
/// down between epochs, and the next epoch's first batches are made while the last of this one are consumed.
///
/// One thread (or one coroutine) takes the batches and calls the other members; two that take at the same
/// time are told so by a std::logic_error (not looked at within a group of 16 samples without batch()). What
/// is in a batch depends on the data, the pipeline, the seed, the epoch and the batch's number, never on
/// workers or timing. What becomes of a failing sample is loader_options::on_error. Where that says nothing,
/// wick::sample_error is thrown when its batch is taken; taking goes on with the batch after it. Destroying a
/// loader in the middle of an epoch is prompt: what has begun ends, nothing else is begun. A coroutine that
/// waits in next_async() is using it, as a thread in next() is: let it go on first.
template <class Source, class... S>
class loader<pipeline<Source, S...>> {
  using feed_type = detail::feed<pipeline<Source, S...>>;
  using runs_again = detail::sample_runs<pipeline<Source, S...>, true>;
  using replaying_type = detail::replaying<detail::sample_runs<pipeline<Source, S...>>, runs_again,
                                           detail::finishing<runs_again>>;
  using place = detail::loader_place<loader>;
  using again = detail::loader_replay<loader>;
  using edits = detail::loader_edits<loader>;
  using reporting = detail::loader_report<loader>;
  using job_type = std::remove_pointer_t<decltype(std::declval<feed_type&>().try_take())>;

 public:
  /// What an epoch gives: a batch (wick::sample of tensors for a source of samples), or a sample when the
  /// pipeline has no batch().
  using value_type = typename feed_type::delivered;

  /// \throws wick::error when an epoch would be empty, when on_error can't be done with this pipeline, when
  /// workers are given beside an executor, or when a ledger or quarantine file can't be opened or is of
  /// another data set
  explicit loader(pipeline<Source, S...> what, loader_options options = {})
      : own_(detail::own_executor(options)),
        feed_(detail::make_owned<feed_type>(std::move(what), options, own_ ? *own_ : *options.executor)),
        books_{{options.on_error.options(), options.ledger_file, feed_->runs().bad}, {}, {}} {
    if (!options.journal_file.empty()) edits::go_on_with(*this, options.journal_file);
  }

  /// A range for one pass: its iterators take batches as they advance, its next() without them.
  using epoch_range = detail::epoch_range<loader>;
  /// Begins an epoch: `for (auto& batch : train.epoch(e))`. When it follows the one before, its first batches
  /// are ready already; else what was prefetched is dropped. An epoch that was left early begins anew. The
  /// epoch of a state that was loaded goes on where the state stands, once; asking for another one instead
  /// forgets the state. May be called on a worker, too: there next_async() waits for what is dropped to end.
  /// \throws wick::error when the source has another size than when the loader was made; nothing has changed
  /// then
  epoch_range epoch(std::uint64_t e) {
    const detail::single_user::hold mine(user_, "epoch()");
    begin(e);
    return epoch_range(*this);
  }
  /// The source's size and its weights may have changed: all is planned anew over what they are now. What was
  /// prefetched is dropped, an epoch that is under way ends where it stands, and from now on none is begun
  /// ahead. An epoch may be a round of k batches (weighted's `samples`, take()): see the guide changing_data.
  /// \throws wick::error where a loader of what there is now couldn't be made, or a loaded state be gone on
  /// with: the loader gives nothing until it was called again with success
  /// \throws std::logic_error on a worker of the loader's executor while batches are under way
  void refresh() {
    const detail::single_user::hold mine(user_, "refresh()");
    place::refresh(*this);
  }

  /// Changes weights of a mix() that nothing behind it but shard() orders: `train.edit({{"web", 0.5},
  /// {"books", 0}})`, from the next batch on that nobody was given, or from where edit_options says. Other
  /// weights stay as they are. Sources go on where they stood, and what was prefetched is made anew. The
  /// epoch ends where the new weights have it end: see batches(). From then on none is begun ahead. An edit
  /// that was made already is not made again. See the guide changing_mixture. \throws wick::error for what
  /// makes no sense, a batch that was handed over, or a journal that can't be written; nothing has changed
  /// then
  void edit(const std::vector<source_weight>& weights, edit_options at = {}) {
    const detail::single_user::hold mine(user_, "edit()");
    edits::change(*this, weights, at);
  }
  /// Makes the edits of another run's journal, at the batches where they were made there. \throws as edit()
  /// does, and when it is damaged, or of another data set, pipeline or global batch
  void replay_edits(const std::string& journal_file) {
    const detail::single_user::hold mine(user_, "replay_edits()");
    edits::replay(*this, journal_file);
  }
  /// The weights of the next batch.
  std::vector<source_weight> mixture() const { return edits::now(*this); }

  /// Where the training stands: behind the last batch (without batch(): the last sample) that was handed
  /// over, in at most 4 KiB. What was prefetched is neither lost nor repeated. Behind the last batch of an
  /// epoch that is the beginning of the next one. Write it into the model's checkpoint, or with write_state()
  /// into a file of its own. It is the same on every rank but for the failures it counts.
  std::vector<std::byte> state() const { return place::state(*this); }
  /// Goes on from a state, on any number of workers and ranks with the same global batch: the next
  /// epoch(current_epoch()) or next() begins with the batch behind it. No batch before it is made again.
  /// \throws wick::error when it is damaged, or of another data set, pipeline, seed or global batch; nothing
  /// has changed then
  void load_state(std::span<const std::byte> bytes) {
    const detail::single_user::hold mine(user_, "load_state()");
    place::load(*this, bytes);
  }
  /// The epoch being delivered (to its end, until another one is begun), or the one that a state which was
  /// loaded goes on in: `for (auto e = train.current_epoch(); e < 90; ++e)`.
  std::uint64_t current_epoch() const noexcept { return resume_ ? resume_->epoch : epoch_.value_or(0); }

  /// The next batch of the epoch, or nothing at its end. Starts with epoch 0 if none was begun.
  /// \throws wick::sample_error when a sample of it failed and on_error doesn't say what else to do,
  /// wick::too_many_errors at a limit of on_error; the next call goes on behind it
  /// \throws std::logic_error on a worker or an I/O thread of the loader's executor, which must not block (in
  /// a stage of any loader on it, too): use next_async(); and while another thread or coroutine is in it
  std::optional<value_type> next() {
    if constexpr (!feed_type::batched) {
      if (user_.still_this_thread()) {  // most wait for nothing
        if (std::optional<value_type> value = next_of_group()) return value;
      }
    }
    require_outside();
    detail::single_user::hold mine(user_, "next()");
    mine.remember_thread();
    if (!begun()) return at_end();
    if (!sought_) seek();
    for (;;) {
      if (std::optional<value_type> value = next_of_group()) return value;
      if (left_ == 0) return at_end();
      if (std::optional<value_type> batch = deliver(wait())) return batch;
    }
  }

  /// The same for a coroutine: `auto batch = co_await train.next_async();`. Continues on a worker.
  task<std::optional<value_type>> next_async() {
    const detail::single_user::hold mine(user_, "next_async()");
    if (!begun()) co_return at_end();
    if (!sought_) {
      task<void> leaving = feed_->left_async();
      co_await leaving;
      seek();
    }
    for (;;) {
      if (std::optional<value_type> value = next_of_group()) co_return value;
      if (left_ == 0) co_return at_end();
      const std::uint64_t begun_at = books_.report.begin_wait();
      job_type* const job = co_await feed_->next_async();
      books_.report.waited(begun_at);
      if (std::optional<value_type> batch = deliver(job)) co_return batch;
    }
  }

  /// Makes a batch again, alone: the same bytes, of what the data are now, wherever the run stands, and also
  /// one that is still to come. The run goes on as if nothing had been: order, state, ledger, fingerprints
  /// and report stay as they are. Without batch() `batch` is a position in the epoch, over all ranks, and one
  /// sample comes. See the guide replaying. \throws wick::error when there is no such batch, when it was made
  /// of data before refresh(), or when what failed before it isn't known (error_options::compact);
  /// wick::sample_error as next() does, or when the sample was left out
  /// \throws std::logic_error as next() does
  value_type replay(std::uint64_t epoch, std::uint64_t batch, const replay_options& options = {}) {
    const detail::single_user::hold mine(user_, "replay()");
    feed_->on().require_outside("replay()", "co_await replay_async()");
    return again::batch(*this, epoch, batch, options);
  }
  /// The same for a coroutine.
  task<value_type> replay_async(std::uint64_t epoch, std::uint64_t batch, replay_options options = {}) {
    const detail::single_user::hold mine(user_, "replay_async()");
    task<value_type> making = again::batch_async(this, epoch, batch, options);
    value_type out = co_await making;
    co_return std::move(out);
  }
  /// What a batch was made of: it is made again, and each sample noted with its key, what came in whose
  /// place, what went into it, and the random numbers that stages drew. What fails is in it, too. \throws as
  /// replay()
  wick::receipt receipt(std::uint64_t epoch, std::uint64_t batch, const replay_options& options = {}) {
    const detail::single_user::hold mine(user_, "receipt()");
    feed_->on().require_outside("receipt()", "co_await replay_async()");
    return again::written(*this, epoch, batch, options);
  }

  /// Batches of the epoch, which edit() may change (for a pipeline without batch(): groups of samples that
  /// only the loader sees).
  std::uint64_t batches() const noexcept { return feed_->plan().batches(); }
  /// Samples of it, over all ranks.
  std::uint64_t size() const noexcept { return feed_->plan().positions(); }
  /// The source, as it was given.
  const Source& source() const noexcept { return feed_->origin(); }
  /// Where it runs: loader_options::executor, or its own.
  executor& on() noexcept { return feed_->on(); }
  /// Samples that filter() has left out in this training so far.
  std::uint64_t filtered() const noexcept { return books_.drops.of_training; }
  /// All failures that were told so far.
  const wick::ledger& ledger() const noexcept { return books_.account.ledger(); }
  /// What was delivered of an epoch since it was begun, or since it was gone on with; see there. Of the last
  /// 64 epochs; zero for others.
  epoch_fingerprint fingerprint(std::uint64_t epoch) const {
    return books_.prints.of(epoch, data(), batch_of_prints());
  }
  /// Replaces the file at `path` by a list of the samples (a million at most) that failed here, or that the
  /// loader's quarantine files name, for a later run's loader_options::quarantine. Failures for want of
  /// memory, of shapes and of batch stages are not in it. \throws wick::error when it can't be written
  void write_quarantine(const std::string& path) const {
    detail::write_quarantine(path, feed_->origin(),
                             std::span<const detail::quarantine::entry>(books_.account.bad()),
                             std::span<const std::string>(feed_->path().stage_names()));
  }
  /// Blocks of batch memory allocated so far; constant once the pipeline is warm.
  std::uint64_t slab_allocations() const noexcept { return feed_->pool().allocations(); }
  /// The most encoded bytes that were in flight at a time.
  std::size_t peak_bytes_in_flight() const noexcept { return feed_->budget().peak(); }

  /// Everything since the last report: time a stage, share of waiting, what to change.
  wick::report report() { return reporting::of(*this); }
  /// Writes a trace for Perfetto until stop_trace(), the next trace() or the loader's end; see the guide
  /// tracing. \throws wick::error when the file can't be written; where that fails later, report() has a note
  void trace(const std::string& path, detail::trace_options how = {}) { reporting::trace(*this, path, how); }
  /// Writes the rest of the trace, and closes the file.
  void stop_trace() { reporting::stop_trace(*this); }

 private:
  friend epoch_range;
  friend place;
  friend again;
  friend reporting;
  friend edits;

  void begin(std::uint64_t e) {
    feed_->on().require_workers();
    require_refreshed();
    feed_->size().require_same();
    edits::plan_for(*this, e);
    books_.prints.begin(e);  // before anything has changed: it may throw
    const bool goes_on = resume_ && resume_->epoch == e;
    const std::uint64_t number = goes_on ? resume_->batch : 0;
    delivery_.begin(goes_on ? resume_->sample : 0, goes_on ? resume_->moved : 0);
    resume_.reset();
    round_.begin(e);
    if (!goes_on) books_.account.begin(e);
    books_.drops.begin(number == 0);
    epoch_ = e;
    left_ = batches() - number;
    sought_ = false;
    books_.report.begin(detail::report_book::of(*feed_));
    if (!feed_->on().owns_this_thread() || !feed_->leaves_for(e, number))
      seek();
    else
      feed_->leave();  // next() or next_async() waits for the end of what is under way
  }
  /// What it has not done when it throws it does the next time.
  void seek() {
    sought_ = false;
    if (left_ != 0) feed_->seek(*epoch_, batches() - left_, delivery_.moved());
    sought_ = true;
  }
  /// No batch of its epoch is left: what is behind stands in the gaps before.
  bool ends(const detail::loader_state& s) const noexcept {
    const auto& plan = feed_->plan();
    return s.batch == plan.batches() ||
           (s.moved != 0 && s.batch * plan.batch_size() + s.moved >= plan.ordered());
  }
  bool begun() {
    feed_->on().require_workers();
    if (!epoch_ || resume_) begin(current_epoch());
    return left_ != 0 || !feed_type::batched;
  }

  std::nullopt_t at_end() {
    books_.report.end(detail::report_book::of(*feed_));
    books_.drops.require_some(current_epoch());
    return std::nullopt;
  }

  void advance() {
    require_outside();
    current_.reset();  // gives its memory back before the next is waited for
    current_ = next();
  }
  void require_refreshed() const {
    if (!refreshed_) throw error("loader: the last refresh() has failed; call it again");
  }
  void require_outside() const { feed_->on().require_outside("next()", "co_await next_async()"); }

  job_type* wait() {
    const std::uint64_t begun_at = books_.report.begin_wait();
    job_type* job = feed_->try_take();
    if (job == nullptr) {
      if (feed_->short_samples()) {
        if (executor::helper slot(feed_->on()); slot) {
          while ((job = feed_->try_take()) == nullptr && feed_->short_samples() && feed_->help()) {
          }
          books_.report.helped(begun_at);
        }
      }
      if (job == nullptr) job = feed_->take();
    }
    books_.report.waited(begun_at);
    return job;
  }

  std::uint64_t batch_of_prints() const noexcept {
    return feed_type::batched ? feed_->plan().batch_size() : 0;
  }
  /// \throws wick::error when the state can't be gone on with here
  void require_goes_on(const detail::loader_state& s, const char* told) const {
    if (const std::string what = detail::difference(s, identity()); !what.empty()) throw error(told + what);
  }
  std::uint64_t data() const {
    if (!data_) data_ = detail::fingerprint_of(feed_->origin());
    return *data_;
  }
  detail::pipeline_identity identity() const {
    return {data(),
            feed_->size().planned(),
            feed_->seed(),
            feed_->plan().batch_size(),
            feed_type::batched,
            feed_->path().identity()};
  }

  /// The next sample of a group that was taken.
  std::optional<value_type> next_of_group() {
    if constexpr (feed_type::batched)
      return std::nullopt;
    else
      return delivery_.next(*feed_, books_);
  }
  /// Nothing when there is more to take first.
  std::optional<value_type> deliver(job_type* job) {
    --left_;
    books_.report.took_batch();
    if (books_.report.looks()) reporting::look(*this, *job);
    if constexpr (feed_type::batched) {
      return delivery_.take(*feed_, job, books_);
    } else {
      delivery_.take(*feed_, job, books_);
      return delivery_.next(*feed_, books_);
    }
  }

  detail::owned<executor> own_;
  detail::owned<feed_type> feed_;
  std::optional<std::uint64_t> epoch_;
  std::uint64_t left_ = 0;
  bool sought_ = true;     // the feed is where these say
  bool refreshed_ = true;  // the last refresh() has gone well
  detail::data_round round_;
  detail::mixture_edits<feed_type> edits_;
  detail::single_user user_;
  std::optional<value_type> current_;
  detail::owned<const detail::loader_state> resume_;  // loaded, and not yet gone on from
  mutable std::optional<std::uint64_t> data_;         // the source's fingerprint, once it was asked for

  std::conditional_t<feed_type::batched, detail::batch_delivery<feed_type>,
                     detail::sample_delivery<feed_type>>
      delivery_;
  detail::delivery_books books_;
};

template <class Source, class... S>
loader(pipeline<Source, S...>, loader_options) -> loader<pipeline<Source, S...>>;
template <class Source, class... S>
loader(pipeline<Source, S...>) -> loader<pipeline<Source, S...>>;

}  // namespace wick

#include <wick/loader/detail/misfit_loader.hpp>  // what is written wrongly
