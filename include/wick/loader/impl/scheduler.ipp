// Implements loader/detail/scheduler.hpp, with the classes source_size and worker_jobs. Included in exactly
// one file of a program.
#pragma once

#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include <wick/async/detail/grain.hpp>
#include <wick/base/detail/brief_lock.hpp>
#include <wick/base/detail/clock.hpp>
#include <wick/base/detail/fetch_to_write.hpp>
#include <wick/loader/detail/scheduler.hpp>
#include <wick/pipeline/error.hpp>

namespace wick::inline v0_1::detail {

void source_size::require_same() const {
  const std::uint64_t found = of_.samples();
  if (found == planned_) return;
  throw error("loader: the source had " + std::to_string(planned_) +
              (taken_ == 0 ? " samples when this loader was made" : " samples at the last refresh()") +
              ", and has " + std::to_string(found) +
              " now; call refresh() to take data of another size, or make a new loader");
}

void source_size::refuse() const {
  require_same();
  throw error(
      "loader: the source's size changes while an epoch is begun; see the concept source for when it may");
}

bool source_size::changed() const noexcept {
  try {
    return of_.samples() != planned_;
  } catch (...) {
    return true;
  }
}

void worker_jobs::execute_one(job* j) noexcept {
  auto* const mine = static_cast<worker_job*>(j);
  mine->of->run_worker(mine);
}

namespace {

constexpr std::size_t most_open = 1024;  // batches

/// The batches that hold as many samples as may be under way, once I/O threads are as many as they can be.
/// Those of bucket() and pack() differ in size.
std::size_t most_batches(const run_settings& of, const loader_options& options, std::uint64_t slots,
                         std::size_t more) noexcept {
  const std::size_t samples = options.in_flight.value_or(tokens::limit_for(of.on.workers(), 256));
  return wait_window::batches_for(samples, of.facts().grouped ? 4 : slots, more);
}

}  // namespace

scheduler::scheduler(run_settings& of, const loader_options& options)
    : on_(of.on),
      plan_(of.pipeline->plan(of.facts().shard, of.seed, std::nullopt)),
      run_(of, *plan_),
      size_(*of.pipeline),
      orders_(of.seed),
      few_(options.prefetch.value_or(on_.workers() < 8 ? 4 : 8)),
      most_(options.prefetch.value_or(8)),
      widest_(of.facts().samples_suspend && !options.prefetch
                  ? std::clamp(most_batches(of, options, plan_->slots(), few_), most_, most_open)
                  : most_),
      longest_run_(plan_->slots() * few_ / (2 * std::max<std::size_t>(on_.workers(), 1))),
      suspends_(of.facts().samples_suspend),
      tokens_(of.in_flight),
      chooses_in_flight_(!options.in_flight),
      may_run_ahead_(options.prefetch_next_epoch && !of.facts().plans_each_epoch),
      run_ahead_(may_run_ahead_),
      done_(widest_),
      pool_(std::make_shared<slab_pool>(of.pipeline->batch_memory(), (widest_ + 2) * 8, few_ + 1, most_ + 1)),
      completion_(run_, done_, pool_, options.content_fingerprint),
      ahead_(widest_,
             [&] {
               owned<batch_job> j = of.pipeline->make_batch();
               j->of = &run_;
               if (suspends_ || run_.facts.batches_suspend) j->under_way = make_owned<activity_table>();
               return j;
             }),
      runner_(run_, *this),
      jobs_(*this, on_) {}

scheduler::~scheduler() {
  if (on_.forked()) return;  // a fork's child has no workers, so nothing would ever end
  drain(nullptr);
  if (on_.must_not_block()) {
    work_until([&] {
      const auto lock = lock_briefly(mutex_);
      return jobs_.all_away();
    });
  } else {
    std::unique_lock lock(mutex_);
    jobs_.wait_all_away(lock);
  }
  pool_->close();
}

/// Waits on a thread of the executor, running what others wait for.
template <class Done>
void scheduler::work_until(Done done) noexcept {
  while (!done()) {
    if (!on_.run_one()) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

scheduler_figures scheduler::figures() noexcept {
  if (on_.forked()) return {};  // a worker that doesn't exist here may hold the mutex
  const auto lock = lock_briefly(mutex_);
  return {window(),    suspends_ ? tokens_.limit() : 0, run_length(), short_samples(), chooses_in_flight_,
          jobs_.idle()};
}

queue_depths scheduler::depths() noexcept {
  queue_depths out;
  for (std::uint64_t s = done_.taken(); s < ahead_.count(); ++s)
    out.ready += ahead_.at(s).unfinished.load(std::memory_order_relaxed) == 0 ? 1u : 0u;
  out.samples = std::max<std::uint64_t>(suspends_ ? tokens_.taken() : 0, jobs_.at_work());
  out.bytes = run_.settings.budget.used();
  return out;
}

void scheduler::seek(std::uint64_t epoch, std::uint64_t number) {
  if (left_ || !comes_next(epoch, number)) {
    // Not the expected epoch. A loop that repeats an epoch does so the next time, too.
    if (started_) {
      drain(make_owned<stop_source>());
      left_ = false;
      epoch_step_ = epoch == current_epoch_ ? 0 : 1;
    }
    next_out_ = next_in_ = {epoch, number};
    ++pass_;
    started_ = true;
  }
  current_epoch_ = epoch;
  to_open_ = plan_->batches() - number - (ahead_.count() - done_.taken());
  open_more();
  const auto lock = lock_briefly(mutex_);
  start_worker();
}

task<void> scheduler::left_async() {
  while (done_.taken() < ahead_.count()) {
    batch_job* const j = co_await done_.next(on_);
    j->drop();
  }
}

void scheduler::refresh() {
  if (started_) drain(make_owned<stop_source>());
  started_ = left_ = run_ahead_ = may_run_ahead_ = false;
  orders_.forget();
  run_.pipeline.refresh();
  go_by(run_.pipeline.plan(run_.facts.shard, run_.settings.seed, std::nullopt));
  size_.reread();
}

void scheduler::replan(owned<const erased_plan> next, owned<stop_source> stop, bool ahead) noexcept {
  if (started_) drain(std::move(stop));
  started_ = left_ = false;
  run_ahead_ = ahead && may_run_ahead_;
  orders_.forget();
  go_by(std::move(next));
}

void scheduler::go_by(owned<const erased_plan> next) noexcept {
  run_.plan = next.get();
  plan_ = std::move(next);
}

void scheduler::release(batch_job& j) noexcept {
  const std::uint64_t ready_since = j.published;
  advance(next_out_);
  // At the end of an epoch that isn't followed at once, the batches ahead say nothing.
  if (widest_ != most_ && ahead_.count() - done_.taken() + 1 >= window())
    waits_.took(tokens_.taken(), samples_ahead(), usual_window(), widest_now());
  try {
    open_more();
  } catch (...) {  // no memory: waiting for a batch that wasn't opened tries again
  }
  const auto lock = lock_briefly(mutex_);
  jobs_.taken(ready_since);
  start_worker();
}

// ---- opening batches and starting worker jobs ----

std::uint64_t scheduler::samples_ahead() noexcept {
  std::uint64_t n = 0;
  for (std::uint64_t s = done_.taken(); s < ahead_.count(); ++s) n += ahead_.at(s).count;
  return n;
}

void scheduler::open_more() {
  const std::uint64_t end = done_.taken() + window();
  while (ahead_.count() < end) {
    if (next_in_.number == 0 && size_.changed()) break;  // the next epoch() reports it
    if (!run_ahead_ && to_open_ == 0) break;
    open(ahead_.at(ahead_.count()), ahead_.count());
    if (!run_ahead_) --to_open_;
    advance(next_in_);
    ahead_.publish();
  }
}

void scheduler::open(batch_job& j, std::uint64_t sequence) {
  j.order = orders_.get(*plan_, next_in_.epoch);
  if (run_ahead_ && epoch_step_ != 0 && next_in_.number >= plan_->batches() / 2)
    orders_.expect(*plan_, next_in_.epoch + epoch_step_);
  j.sequence = sequence;
  j.number = next_in_.number;
  const auto mine = plan_->slice(next_in_.number, j);
  j.first = mine.first;
  j.count = mine.count;
  j.epoch = next_in_.epoch;
  if (j.number == 0) ++pass_;
  j.pass = pass_;
  completion_.begin(j);
  if (j.under_way) j.under_way->make_room(static_cast<std::size_t>(j.count) + 1);
  // Nothing throws from here on.
  j.unfinished.store(j.count + 1, std::memory_order_relaxed);  // one for this function
  j.offer();
  finish_some(j, 1);
}

/// \throws std::bad_alloc or wick::error when no batch could be begun to wait for
void scheduler::before_waiting() {
  stop_helping();
  if (ahead_.count() != done_.taken()) return;
  open_more();
  if (ahead_.count() == done_.taken()) size_.refuse();
  const auto lock = lock_briefly(mutex_);
  start_worker();
}
/// Called before the consumer sleeps: workers may now run the samples that were left for it.
void scheduler::stop_helping() noexcept {
  if (!jobs_.has_helped()) return;
  const auto lock = lock_briefly(mutex_);
  jobs_.helps_no_more();
  start_worker();
}
void scheduler::start_worker() noexcept {
  if (!jobs_.may_start()) return;  // first, before reading anything that workers write
  if (!orders_.wanted()) {
    const std::uint64_t left = ahead_.unclaimed();
    if (left == 0 || !may_claim()) return;
    if (jobs_.consumer_helps() && runner_.grain().not_worth_a_wake(left))
      return;  // it runs them when it wants its batch
  }
  jobs_.start();
}
/// True if the worker job was put away; false if there is work for it after all.
bool scheduler::retire(worker_jobs::worker_job* p) noexcept {
  const auto lock = lock_briefly(mutex_);
  if (!jobs_.too_many() && may_claim() && ahead_.unclaimed() != 0) return false;
  jobs_.put_away(p, !may_claim());
  return true;
}

/// Leaves all batches under way: unclaimed samples aren't begun, and the others end. `next_stop` stops later
/// batches.
void scheduler::drain(owned<stop_source> next_stop) noexcept {
  if (cancel()) {
    while (done_.taken() < ahead_.count()) {
      batch_job* j = nullptr;
      if (on_.must_not_block())
        work_until([&] { return (j = done_.try_take()) != nullptr; });
      else
        j = done_.take();
      j->drop();
    }
  }
  if (!next_stop || !run_.stop->stop_requested()) return;
  // The callbacks and tokens of the old stop source are gone, with the samples that had them.
  const auto lock = lock_briefly(mutex_);
  run_.stop = std::move(next_stop);
}
bool scheduler::cancel() noexcept {  // false when there are none
  std::uint64_t opened;
  {
    const auto lock = lock_briefly(mutex_);
    opened = ahead_.count();
  }
  if (done_.taken() == opened) return false;
  run_.stop->request_stop();
  for (std::uint64_t s = done_.taken(); s < opened; ++s) {
    batch_job& j = ahead_.at(s);
    j.cancelled.store(true, std::memory_order_relaxed);
    finish_some(j, j.claim_rest());
  }
  return true;
}

// ---- workers ----

void scheduler::run_worker(worker_jobs::worker_job* p) noexcept {
  std::uint64_t until = 0;
  do {
    if (const std::uint64_t now = now_ticks(); now >= until) {
      if (until != 0) {
        if (jobs_.too_many()) break;
        if (on_.should_yield()) return on_.post(p);  // others' turn: samples that can continue, other loaders
      }
      until = now + in_ticks(runner_.grain().turn_ticks());
      if (orders_.wanted()) orders_.prepare();
      if (jobs_.may_start() && ahead_.has_more_than(run_length())) {
        const auto lock = lock_briefly(mutex_);
        start_worker();
      }
    }
  } while (may_claim() && run_some());
  if (!retire(p)) on_.post(p);
}

/// Claims one run from the oldest batch that has any left, and runs it.
bool scheduler::run_some() noexcept {
  const std::uint64_t length = run_length();
  if (suspends_ && chooses_in_flight_)
    tokens_.set_limit(tokens::limit_for(on_.workers(), on_.reads_at_a_time()));
  // A token for each sample, unless few suspend and the limit is wick's own choice, which a run may exceed.
  const bool takes = suspends_ && (!chooses_in_flight_ || run_.clocks.mine().many_suspend);
  const std::uint64_t share = std::max<std::uint64_t>(tokens_.limit() / on_.workers(), 1);
  const std::uint64_t most = takes ? tokens_.take(std::min(length, share)) : may_claim() ? length : 0;
  if (most == 0) return false;
  const auto claimed = ahead_.claim(most, [&](bool another_follows) {
    return suspends_ ? most : runner_.grain().run_length_at_end(another_follows);
  });
  if (takes) give_tokens(most - claimed.count);
  if (claimed.job == nullptr) return false;
  // Only for a batch claimed whole: otherwise this would take lines from workers that use them.
  if (claimed.count == claimed.job->count) fetch_lines(*claimed.job);
  runner_.run(*claimed.job, claimed.from, claimed.count, takes);
  return true;
}

/// If a batch's samples are short, its cache lines would be waited for one by one.
void scheduler::fetch_lines(const batch_job& j) const noexcept {
  if (!short_samples()) return;
  fetch_to_write(&j, j.bytes);
  fetch_to_write(pool_.get(), sizeof *pool_);
}
void scheduler::give_tokens(std::uint64_t n) noexcept {
  if (!suspends_ || n == 0 || !tokens_.give(n)) return;
  const auto lock = lock_briefly(mutex_);
  start_worker();
}

}  // namespace wick::detail
