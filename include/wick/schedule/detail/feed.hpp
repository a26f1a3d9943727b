/// \file
/// The engine room of a loader: hands out positions, runs samples through the stages, finishes batches, keeps
/// a window of them ahead of the consumer, across the ends of epochs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <wick/observe/clock.hpp>
#include <wick/run/budget.hpp>
#include <wick/run/detail/open_batches.hpp>
#include <wick/run/detail/tokens.hpp>
#include <wick/run/executor.hpp>
#include <wick/run/sequencer.hpp>
#include <wick/run/stop_token.hpp>
#include <wick/run/task.hpp>
#include <wick/sample/context.hpp>
#include <wick/sample/detail/source_size.hpp>
#include <wick/schedule/detail/batch_job.hpp>
#include <wick/schedule/detail/batches_ahead.hpp>
#include <wick/schedule/detail/claimed_runs.hpp>
#include <wick/schedule/detail/finishing.hpp>
#include <wick/schedule/detail/pace.hpp>
#include <wick/schedule/detail/pump_crew.hpp>
#include <wick/schedule/detail/sample_runs.hpp>
#include <wick/schedule/loader_options.hpp>
#include <wick/system/detail/brief_lock.hpp>
#include <wick/system/detail/fetch_to_write.hpp>
#include <wick/system/detail/owned.hpp>

namespace wick::detail {

template <class Pipeline>
class feed;

/// One consumer, which calls everything public, except where it says "worker". The control mutex guards
/// opening batches and starting pumps, about once a batch; samples are claimed and finished without it. A
/// pump, of which there are at most as many as workers, is a job on the executor that claims runs of
/// positions from the oldest batch that has any left.
template <class Source, class... S>
class feed<pipeline<Source, S...>> {
  using runs_type = sample_runs<pipeline<Source, S...>>;
  using job_type = typename runs_type::job_type;

 public:
  using path_type = typename runs_type::path_type;
  using types = typename path_type::types;
  using value = typename types::value;
  using delivered = typename types::delivered;
  static constexpr bool batched = types::batched;

  feed(pipeline<Source, S...> what, const loader_options& options, executor& on)
      : runs_(std::move(what), options, on),
        on_(on),
        window_(options.prefetch, on.workers()),
        tokens_(runs_.in_flight),
        chooses_in_flight_(options.in_flight == 0),
        run_ahead_(options.prefetch_next_epoch),
        done_(window_.most),
        pool_(window_.make_pool(runs_.path.batch_memory())),
        finishing_(runs_, done_, pool_, options.content_fingerprint),
        ahead_(window_.most),
        claimed_(runs_, *this),
        crew_(*this, on) {}
  feed(const feed&) = delete;
  feed& operator=(const feed&) = delete;

  /// Prompt: what was not begun is not begun, what waits is asked to stop, what runs is waited for.
  ~feed() {
    if (on_.forked()) return;  // the child of a fork has no workers: nobody would ever finish anything
    drain(nullptr);
    std::unique_lock lock(mutex_);
    crew_.wait_all_away(lock);
  }

  const auto& plan() const noexcept { return runs_.plan; }
  std::uint64_t seed() const noexcept { return runs_.seed; }
  const Source& origin() const noexcept { return runs_.path.source(); }
  const source_size<Source>& size() const noexcept { return size_; }
  runs_type& runs() noexcept { return runs_; }
  const runs_type& runs() const noexcept { return runs_; }
  path_type& path() noexcept { return runs_.path; }
  const path_type& path() const noexcept { return runs_.path; }
  const slab_pool& pool() const noexcept { return *pool_; }
  const byte_budget& budget() const noexcept { return runs_.budget; }
  executor& on() noexcept { return on_; }
  /// What a report needs to know of how it works.
  feed_figures figures() noexcept {
    if (on_.forked()) return {};  // a worker that is missing here may have the mutex
    const auto lock = lock_briefly(mutex_);
    return {window(),
            types::samples_suspend ? tokens_.limit() : 0,
            claimed_.pace().run_length(),
            short_samples(),
            chooses_in_flight_,
            crew_.idle()};
  }

  /// Batches come from (epoch, number) on, `moved` of the epoch's samples having been moved to those before.
  /// If that is what comes next anyway, nothing is lost. Not on a worker unless leaves_for() is false.
  void seek(std::uint64_t epoch, std::uint64_t number, std::uint64_t moved) {
    if (left_ || !comes_next(epoch, number)) {
      // Another epoch than the foreseen one. Whoever asks for the same again will do so the next time too.
      if (started_) {
        drain(make_owned<stop_source>());
        left_ = false;
        epoch_step_ = epoch == current_epoch_ ? 0 : 1;
      }
      next_out_ = next_in_ = {epoch, number};
      ++pass_;
      moved_ = moved;
      started_ = true;
    }
    current_epoch_ = epoch;
    to_open_ = runs_.plan.batches() - number - (ahead_.count() - done_.taken());
    const auto lock = lock_briefly(mutex_);
    open_more();
  }

  /// Whether seek() to there drops batches that are under way, and waits for those that have begun.
  bool leaves_for(std::uint64_t epoch, std::uint64_t number) const noexcept {
    return started_ && (left_ || !comes_next(epoch, number));
  }
  /// Begins to drop them, without waiting. Nothing is taken before the next seek().
  void leave() noexcept {
    left_ = true;
    cancel();
  }
  /// Then seek() waits no more.
  task<void> left_async() {
    while (done_.taken() < ahead_.count()) {
      job_type* const job = co_await done_.next(on_);
      job->drop();
    }
  }

  bool idle() const noexcept { return done_.taken() == ahead_.count(); }  // nothing is under way
  /// Drops what is under way, and plans anew over what there is now. Not on a worker unless idle(). From then
  /// on no epoch is begun ahead. \throws as the constructor does; to be called again then
  void refresh(bool source_too = true) {
    if (started_) drain(make_owned<stop_source>());
    started_ = left_ = run_ahead_ = false;
    planned_at_ = ahead_.count();
    runs_.refresh(source_too);
    if (source_too) size_.take_anew();
  }

  /// The next batch if it is finished, else null. Keep it until release().
  job_type* try_take() noexcept {
    job_type* const j = done_.try_take();
    if (j != nullptr) fetch_lines(*j);
    return j;
  }
  /// Sleeps until it is finished.
  /// \throws std::bad_alloc, and wick::error when the source has another size; nothing is lost then
  job_type* take() {
    before_waiting();
    return done_.take();
  }
  auto next_async() {
    before_waiting();
    return done_.next(on_);
  }
  /// Before what is in a job that was taken is looked at.
  static void make(job_type* j) noexcept {
    if constexpr (finishing<runs_type>::made_by_consumer) finishing<runs_type>::make(*j);
  }
  /// The batch was moved out of its job: its place in the ring is free.
  void release(job_type* j) noexcept {
    j->value.reset();
    advance(next_out_);
    const auto lock = lock_briefly(mutex_);
    crew_.taken(j->published);
    try {
      open_more();
    } catch (...) {  // no memory: who waits for a batch that was not opened tries again
    }
  }

  /// Runs a few samples on the calling thread (which has a slot), while it would only wait. False: none left.
  bool help() noexcept {
    crew_.helped();
    return run_some();
  }
  /// A thread that waits may take part when samples are this short: it must not come late for its batch.
  bool short_samples() const noexcept { return claimed_.pace().short_samples(); }

 private:
  friend class pump_crew<feed>;
  friend class claimed_runs<runs_type, feed>;
  template <class>
  friend struct loader_report;
  using pump = typename pump_crew<feed>::pump;
  struct cursor {
    std::uint64_t epoch = 0, number = 0;
  };

  // ---- opening batches and starting pumps (consumer and workers, under the mutex) ----

  void advance(cursor& c) const noexcept {
    if (++c.number == runs_.plan.batches()) c = {c.epoch + epoch_step_, 0};
  }

  std::size_t window() const noexcept { return window_.at(*pool_); }

  void open_more() {
    const std::uint64_t end = done_.taken() + window();
    while (ahead_.count() < end) {
      if (next_in_.number == 0 && size_.changed()) break;  // the next epoch()'s to say
      if (!run_ahead_ && to_open_ == 0) break;
      open(ahead_.at(ahead_.count()), ahead_.count());
      if (!run_ahead_) --to_open_;
      advance(next_in_);
      ahead_.publish();
    }
    start_pump();
  }

  void open(job_type& j, std::uint64_t sequence) {
    if (ahead_.is_first_in_place(sequence) || j.epoch != next_in_.epoch || j.sequence < planned_at_)
      j.order = runs_.plan.order(runs_.seed, next_in_.epoch);
    j.sequence = sequence;
    j.number = next_in_.number;
    const auto mine = runs_.plan.slice(next_in_.number, j.order);
    j.first = mine.first;
    j.count = mine.count;
    j.epoch = next_in_.epoch;
    if (j.number == 0) ++pass_;
    j.pass = pass_;
    finishing_.begin(j, moved_);
    moved_.reset();
    j.unfinished.store(j.count + 1, std::memory_order_relaxed);  // one for this function
    j.offer();
    finish_some(j, 1);
  }

  bool may_claim() const noexcept {
    if constexpr (types::samples_suspend)
      return tokens_.any();
    else
      return true;
  }
  /// \throws std::bad_alloc or wick::error when no batch could be begun that could be waited for
  void before_waiting() {
    stop_helping();
    if (ahead_.count() != done_.taken()) return;
    const auto lock = lock_briefly(mutex_);
    open_more();
    if (ahead_.count() == done_.taken()) size_.refuse();
  }
  /// Before the consumer sleeps: what was left for it to run is left to others now.
  void stop_helping() noexcept {
    if (!crew_.has_helped()) return;
    const auto lock = lock_briefly(mutex_);
    crew_.helps_no_more();
    start_pump();
  }
  void start_pump() noexcept {
    if (!crew_.may_start()) return;  // before anything that workers are writing is looked at
    const std::uint64_t left = ahead_.unclaimed();
    if (left == 0 || !may_claim()) return;
    if (crew_.consumer_helps() && claimed_.pace().not_worth_a_wake(left))
      return;  // it takes them when it comes for them
    crew_.start();
  }
  /// True when the pump was put away; false when there is work for it after all.
  bool retire(pump* p) noexcept {
    const auto lock = lock_briefly(mutex_);
    if (!crew_.too_many() && may_claim() && ahead_.unclaimed() != 0) return false;
    crew_.put_away(p, !may_claim());
    return true;
  }

  bool comes_next(std::uint64_t epoch, std::uint64_t number) const noexcept {
    return started_ && next_out_.epoch == epoch && next_out_.number == number;
  }

  /// Leaves all batches that are under way: unclaimed samples are not begun, the others end. What comes
  /// afterwards is stopped by `next_stop`.
  void drain(owned<stop_source> next_stop) noexcept {
    if (cancel()) {
      while (done_.taken() < ahead_.count()) done_.take()->drop();
    }
    if (!next_stop || !runs_.stop->stop_requested()) return;
    // The callbacks and tokens of the old source are gone with the samples that had them.
    const auto lock = lock_briefly(mutex_);
    runs_.stop = std::move(next_stop);
  }
  bool cancel() noexcept {  // false when there are none
    std::uint64_t opened;
    {
      const auto lock = lock_briefly(mutex_);
      opened = ahead_.count();
    }
    if (done_.taken() == opened) return false;
    runs_.stop->request_stop();
    for (std::uint64_t s = done_.taken(); s < opened; ++s) {
      job_type& j = ahead_.at(s);
      j.cancelled.store(true, std::memory_order_relaxed);
      finish_some(j, j.claim_rest());
    }
    return true;
  }

  // ---- workers ----

  void run_pump(pump* p) noexcept {
    std::uint64_t until = 0;
    do {
      if (const std::uint64_t now = now_ticks(); now >= until) {
        if (until != 0) {
          if (crew_.too_many()) break;
          if (on_.job_waits()) return on_.post(p);  // others' turn: samples that can go on, other loaders
        }
        until = now + 2 * pace::run_ticks;
        if (crew_.may_start() && ahead_.has_more_than(claimed_.pace().run_length())) {
          const auto lock = lock_briefly(mutex_);
          start_pump();
        }
      }
    } while (may_claim() && run_some());
    if (!retire(p)) on_.post(p);
  }

  /// Claims one run from the oldest batch that has any left, and runs it.
  bool run_some() noexcept {
    const std::uint64_t most = take_tokens(claimed_.pace().run_length());
    if (most == 0) return false;
    const auto claimed = ahead_.claim(most, [&](bool another_follows) {
      return types::samples_suspend ? most : claimed_.pace().run_length_at_end(another_follows);
    });
    give_tokens(most - claimed.count);
    if (claimed.job == nullptr) return false;
    fetch_lines(*claimed.job);
    claimed_.run(*claimed.job, claimed.from, claimed.count);
    return true;
  }

  /// Of a batch whose samples are short they would be waited for one by one.
  void fetch_lines(const job_type& j) const noexcept {
    if (!short_samples()) return;
    fetch_to_write(&j, sizeof j);
    fetch_to_write(pool_.get(), sizeof *pool_);
  }
  /// Up to `most` of the samples that may be under way.
  std::uint64_t take_tokens(std::uint64_t most) noexcept {
    if constexpr (types::samples_suspend)
      return tokens_.take(most);
    else
      return most;
  }
  /// Pumps that found all taken have retired: whoever gives the first back starts one.
  void give_tokens(std::uint64_t n) noexcept {
    if constexpr (types::samples_suspend) {
      if (n == 0 || !tokens_.give(n)) return;
      const auto lock = lock_briefly(mutex_);
      start_pump();
    }
  }

  /// Nothing of the loader may be touched after this: the consumer may have taken the batch and destroyed it.
  void finish_some(job_type& j, std::uint64_t count) noexcept {
    if (count == 0 || j.unfinished.fetch_sub(count, std::memory_order_acq_rel) != count) return;
    finishing_.run(j);
  }

  runs_type runs_;
  source_size<Source> size_{origin()};
  executor& on_;
  const batches_ahead window_;
  tokens tokens_;  // of samples that may be under way at a time
  const bool chooses_in_flight_;
  bool run_ahead_;

  // the consumer's
  bool started_ = false;
  bool left_ = false;  // what is under way is being dropped
  std::uint64_t epoch_step_ = 1, current_epoch_ = 0;
  std::uint32_t pass_ = 0;        // what batches are opened of
  std::uint64_t planned_at_ = 0;  // batches before this one were planned over what the source had before
  std::uint64_t to_open_ = 0;     // of the epoch asked for, when the next is not begun ahead
  std::optional<std::uint64_t> moved_ = 0;  // before the batch opened next, where only the consumer knows
  cursor next_out_, next_in_;  // next_in_ and epoch_step_ also by open_more, which the consumer alone calls

  sequencer<job_type> done_;
  std::shared_ptr<slab_pool> pool_;
  finishing<runs_type> finishing_;

  open_batches<job_type> ahead_;
  claimed_runs<runs_type, feed> claimed_;

  std::mutex mutex_;
  pump_crew<feed> crew_;
};

}  // namespace wick::detail
