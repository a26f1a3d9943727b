// Implements loader/detail/sample_runner.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <utility>

#include <wick/async/executor.hpp>
#include <wick/base/detail/clock.hpp>
#include <wick/batch/epoch_fingerprint.hpp>
#include <wick/loader/detail/for_each_position.hpp>
#include <wick/loader/detail/retry.hpp>
#include <wick/loader/detail/sample_runner.hpp>
#include <wick/loader/detail/scheduler.hpp>

namespace wick::inline v0_1::detail {

void sample_runner::run(batch_job& j, std::uint64_t from, std::uint64_t count, bool has_tokens) noexcept {
  run_.facts.samples_suspend ? begin_all(j, from, count, has_tokens) : run_all(j, from, count);
}

/// Samples that end before the next one begins are counted together: only those that suspend write to what
/// all workers share.
void sample_runner::begin_all(batch_job& j, std::uint64_t from, std::uint64_t count,
                              bool has_tokens) noexcept {
  stage_clocks::worker& mine = run_.clocks.mine();
  const std::uint64_t begun = now_ticks();
  mine.mark.thread.store(&this_thread_resumption(), std::memory_order_relaxed);
  mine.clocks[run_.facts.order_row].ran(count);  // before the batch can end, so that reports include them
  std::uint64_t ended = 0;
  const std::uint64_t sequence = j.sequence;  // once its samples have ended, the batch may be another one
  // A stage may destroy another loader, which meanwhile runs jobs of this executor: perhaps a run of this
  // loader.
  const stage_clocks::begun_sample outer = mine.begins;
  const bool tries = run_.facts.tries_at_once && !mine.many_suspend;
  const bool groups = tries && run_.facts.groups_reads && mine.without_groups == 0;
  if (mine.without_groups != 0) --mine.without_groups;
  context c = run_.context_at({}, j);
  failure f;
  grouped reads;
  if (tries) c.show_stage(&mine.mark.stage);
  const prefetch_depth& depth = prefetch_choice::all[0];
  for_each_position(
      *run_.plan, j, j.first + from, count, run_.facts.prefetches ? depth.samples : 0,
      [&](std::uint64_t index) { run_.pipeline.prefetch(index, depth.bytes); },
      [&](std::uint64_t first, const std::uint64_t* indexes, std::uint64_t n) {
        // Samples are counted before they begin, since they may end while others are begun.
        if (run_.facts.batched) j.print.fetch_add(prints_of(first, indexes, n), std::memory_order_relaxed);
        if (groups) read_group_of(j, first, {indexes, static_cast<std::size_t>(n)}, mine, reads);
      },
      [&](std::uint64_t i, std::uint64_t index) {
        const place where = run_.place_of(j, from + i, index);
        attempt tried = attempt::suspends;
        const auto at = static_cast<std::size_t>(i % run_mark::few);
        const bool followed = groups ? reads.followed[at] : mine.lane->wants(where.position);
        switch (reads.group.of(at)) {
          case read_group::state::there:
            tried = finish_read(j, from + i, where, mine, c, f, reads, at);
            break;
          case read_group::state::missing:
            break;
          case read_group::state::left_out:
            if (tries && !followed) tried = try_at_once(j, from + i, where, mine, c, f);
        }
        if (tried == attempt::ended) {
          ++ended;
          return mine.mark.ended(sequence, ended);
        }
        mine.begins = {&j, from + i, &ended};
        try {
          failure* const failed = tried == attempt::failed ? &f : nullptr;
          resume(run_one(this, &j, from + i, where, begun, followed, failed).handle);
        } catch (...) {  // no memory for its frame
          tried == attempt::failed ? j.lose(std::exchange(f, {})) : lose(j, from + i, where);
          ++ended;
        }
        mine.mark.ended(sequence, ended);
      });
  reads.group.clear();
  reads.held.give_back();
  mine.mark.ended(sequence, 0);
  mine.begins = outer;
  mine.mark.thread.store(nullptr, std::memory_order_relaxed);
  learn(mine, count, now_ticks() - begun);
  const std::uint64_t suspended = count - ended;
  mine.many_suspend = suspended > count / 4;
  has_tokens ? owner_.give_tokens(ended) : owner_.take_owed_tokens(suspended);
  owner_.finish_some(j, ended);
}

void sample_runner::run_all(batch_job& j, std::uint64_t from, std::uint64_t count) noexcept {
  stage_clocks::worker& mine = run_.clocks.mine();
  stage_clock* const clocks = mine.clocks;
  stage_clock& order = clocks[run_.facts.order_row];
  const std::uint64_t begun = now_ticks();
  // Clocks are read between the stages of slow samples. Of fast ones, only the first few of one run in 64 are
  // timed, and they stand for 64 runs.
  const bool slow = grain_.slow_samples();
  const bool timed = slow || order.count() >= mine.next_timed;
  if (timed) mine.next_timed = order.count() + 64 * count;
  const bool chooses = run_.facts.prefetches && !slow;
  // A run that is timed teaches no depth.
  const std::size_t depth = !chooses ? 0 : timed ? depths_.best() : depths_.next(mine.depths);
  context c = run_.context_at({}, j);
  mine.mark.begin(j.sequence, j.first + from, count, begun);
  sample_run r{c, run_.facts.prefetches ? prefetch_choice::all[depth] : prefetch_depth{}, mine.mark};
  constexpr std::uint64_t few = 32;  // also the number computed together
  const std::uint64_t clocked = !timed ? 0 : slow ? count : std::min(count, few);
  const std::uint64_t weight = slow ? 1 : timed ? 64 * count / clocked : 0;
  if (timed) {
    stopwatch clock(mine, slow, weight);
    run_timed(j, from, clocked, r, clock);
    if (clocked < count) run_.pipeline.run(j, from + clocked, count - clocked, r);
  } else {
    run_probe probe(mine, begun);
    run_.pipeline.run(j, from, count, r);
    probe.end(run_.clocks.runs_of(mine), begun);
  }
  c.give_back();
  mine.mark.end();
  run_.count(clocks, run_.facts.first, count, weight * clocked);
  order.ran(count);
  order.worked(weight * clocked, 0);
  const std::uint64_t passed = now_ticks() - begun;
  learn(mine, count, passed);
  if (chooses && !timed) depths_.learn(depth, count, passed);
  const std::uint64_t good = count - r.failed.size();
  j.print.fetch_add(r.print, std::memory_order_relaxed);
  if (!r.failed.empty()) settle_all(j, r.failed);
  owner_.finish_some(j, good);
}

void sample_runner::run_timed(batch_job& j, std::uint64_t from, std::uint64_t count, sample_run& r,
                              stopwatch& clock) noexcept {
  r.c.show_stage(&r.mark.stage);
  for_each_position(
      *run_.plan, j, j.first + from, count, r.ahead.samples,
      [&](std::uint64_t index) { run_.pipeline.prefetch(index, r.ahead.bytes); },
      [&](std::uint64_t first, const std::uint64_t* indexes, std::uint64_t n) {
        if (run_.facts.batched) r.print += prints_of(first, indexes, n);
      },
      [&](std::uint64_t i, std::uint64_t index) {
        r.c.move_to(run_.place_of(j, from + i, index));
        r.c.follow(clock.follows(r.c.position()));
        r.mark.reach(r.c.position(), 1);
        r.c.enter_source(static_cast<std::uint32_t>(run_.facts.first));
        try {
          run_.refuse_bad(index);
          run_.pipeline.run_timed(j, from + i, r.c, clock);
        } catch (...) {
          clock.mark(std::min<std::size_t>(r.c.stage(), run_.facts.order_row));
          run_.add_failed(j, r.failed, from + i, r.c);
        }
      });
  r.mark.stage.store(in_no_stage, std::memory_order_relaxed);
}

void sample_runner::learn(stage_clocks::worker& mine, std::uint64_t count, std::uint64_t ticks) noexcept {
  grain_.learn(count, ticks);
  run_.clocks.runs_of(mine).worked(count, ticks);
}

void sample_runner::settle_all(batch_job& j, std::vector<failure>& failed) noexcept {
  for (failure& f : failed) {
    try {
      resume(settle_one(this, &j, &f).handle);
    } catch (...) {
      j.lose(std::move(f));
      owner_.finish_some(j, 1);
    }
  }
}

/// Settles a failure in a pipeline where no stage suspends; it may still wait for a retry.
detached sample_runner::settle_one(sample_runner* self, batch_job* j, failure* of) {
  failure f = std::move(*of);
  pipeline_run& run = self->run_;
  context c = run.context_at({run.settings.seed, j->epoch, f.position, f.index}, *j);
  try {
    task<bool> settled = settle(&run, j, &c, f);
    co_await settled;
  } catch (...) {
    j->lose(f);
  }
  f.cause = nullptr;  // frees the exception before the sample ends
  self->owner_.finish_some(*j, 1);
}

/// Handles a sample for which there was no memory. Called in the catch block.
void sample_runner::lose(batch_job& j, std::uint64_t slot, const place& where) noexcept {
  context c = run_.context_at(where, j);
  c.enter(static_cast<std::uint32_t>(run_.facts.first));
  j.lose(run_.failed(slot, c, std::current_exception()));
}

// ---- samples that suspend ----

/// Runs a sample without a coroutine, as far as it needn't wait; run_one() does the rest.
sample_runner::attempt sample_runner::try_at_once(batch_job& j, std::uint64_t slot, const place& where,
                                                  stage_clocks::worker& mine, context& c,
                                                  failure& f) noexcept {
  c.move_to(where);
  mine.mark.begin(j.sequence, where.position, 1, now_ticks());
  attempt out = attempt::failed;
  try {
    const sample_under_way sample(run_, j, c);
    out = run_.pipeline.run_at_once(j, slot, c) ? attempt::ended : attempt::suspends;
  } catch (...) {
    f = run_.failed(slot, c, std::current_exception());
  }
  mine.mark.end_shown();
  return out;
}

/// Reads what the next samples of a run need, as far as it is cached. Of short samples, clocks are read in
/// one group of eight. If no sample suits, as when files are large or aren't open, or if memory is short, the
/// next runs don't try it.
void sample_runner::read_group_of(batch_job& j, std::uint64_t first, std::span<const std::uint64_t> indexes,
                                  stage_clocks::worker& mine, grouped& reads) noexcept {
  static_assert(read_group::most_samples == run_mark::few);
  constexpr std::uint64_t groups_timed = 64, one_in = 8;
  constexpr unsigned runs_without = 256;
  read_group& group = reads.group;
  byte_budget& memory = run_.settings.budget;
  const std::uint64_t begun = now_ticks();
  // All workers together hold a quarter of the memory bound.
  group.clear(memory.limit() / (4 * run_.on.workers()));
  reads.held.give_back();
  reads.followed.reset();
  bool suits = false;
  mine.mark.begin(j.sequence, first, indexes.size(), begun);
  mine.mark.stage.store(in_source, std::memory_order_relaxed);
  for (std::size_t i = 0; i < indexes.size(); ++i) {
    group.begin();
    reads.followed[i] = mine.lane->wants(first + i);
    if (reads.followed[i] || run_.settings.is_bad(indexes[i]) ||
        j.cancelled.load(std::memory_order_relaxed)) {
      group.leave_out();
      suits = true;
      continue;
    }
    try {
      run_.pipeline.add_reads(indexes[i], group);
    } catch (...) {  // the sample's own run reports it
      group.leave_out();
      suits = true;
    }
  }
  mine.mark.end_shown();
  suits = suits || !group.empty();
  if (suits && memory.try_acquire(reads.held, static_cast<std::size_t>(group.bytes()))) {
    group.read();
  } else {
    group.leave_all_out();
    mine.without_groups = runs_without;
  }
  std::uint64_t there = 0, tried = 0;
  for (std::size_t i = 0; i < indexes.size(); ++i) {
    tried += group.of(i) != read_group::state::left_out ? 1 : 0;
    there += group.of(i) == read_group::state::there ? 1 : 0;
  }
  if (there == 0) return;

  const std::size_t row = run_.facts.first;
  const std::uint64_t number = mine.groups++;
  reads.weight = grain_.slow_samples() || number < groups_timed ? 1 : number % one_in == 0 ? one_in : 0;
  reads.begun = now_ticks();
  const std::uint64_t each = (reads.begun - begun) / tried;
  for (std::size_t i = 0; i < indexes.size(); ++i) {
    if (group.of(i) != read_group::state::there) continue;
    std::uint64_t bytes = 0;
    for (const range_part& part : group.parts(i)) bytes += part.length;
    mine.records[row].took(each, indexes[i]);
    mine.records[row].reserved(bytes);
  }
  mine.clocks[row].ran(there);
  mine.clocks[row].worked(there, there * each);
  run_.count(mine.clocks, row + 1, there, reads.weight * there);
}

/// Runs a sample whose bytes have been read.
sample_runner::attempt sample_runner::finish_read(batch_job& j, std::uint64_t slot, const place& where,
                                                  stage_clocks::worker& mine, context& c, failure& f,
                                                  grouped& reads, std::size_t sample) noexcept {
  c.move_to(where);
  const bool timed = reads.weight != 0;
  // Each sample has another time, by which a look at the mark tells them apart.
  mine.mark.begin(j.sequence, where.position, 1, timed ? now_ticks() : reads.begun + sample);
  attempt out = attempt::ended;
  try {
    const sample_under_way under_way(run_, j, c);
    if (timed) {
      stopwatch clock(mine, true, reads.weight);
      run_.pipeline.run_read(j, slot, c, reads.group.parts(sample), &clock);
    } else {
      run_.pipeline.run_read(j, slot, c, reads.group.parts(sample), nullptr);
    }
  } catch (...) {
    f = run_.failed(slot, c, std::current_exception());
    out = attempt::failed;
  }
  mine.mark.end_shown();
  return out;
}

/// `failed`: how the first try failed, if it was made already.
detached sample_runner::run_one(sample_runner* self, batch_job* j, std::uint64_t slot, place where,
                                std::uint64_t begun, bool followed, failure* failed) {
  pipeline_run& run = self->run_;
  context c = run.context_at(where, *j);
  failure f;
  if (failed != nullptr) f = std::move(*failed);
  try {
    c.watch(begun);
    j->under_way->begin(slot, c.doing());
    c.follow(followed);
    if (f.cause != nullptr) {
      c.enter_watched(f.stage);
    } else {
      const sample_under_way sample(run, *j, c);
      task<void> running = run.pipeline.run_async(j, slot, &c);
      co_await running;
    }
  } catch (...) {
    if (f.cause == nullptr) f = run.failed(slot, c, std::current_exception());
  }
  if (run.on.this_slot() == executor::none) co_await run.on.schedule();
  if (f.cause != nullptr) {
    try {
      task<bool> settled = settle(&run, j, &c, f);
      co_await settled;
    } catch (...) {
      j->lose(f);
    }
    f.cause = nullptr;  // frees the exception before the sample ends
    // If settling ended early, this may be any thread.
    if (run.on.this_slot() == executor::none) co_await run.on.schedule();
  }
  // Before the sample counts as finished: afterwards the loader may be gone.
  j->under_way->end(slot);
  if (const auto& begins = run.clocks.mine().begins; begins.batch == j && begins.slot == slot) {
    ++*begins.ended;
    co_return;
  }
  self->owner_.give_tokens(1);
  self->owner_.finish_some(*j, 1);
}

}  // namespace wick::detail
