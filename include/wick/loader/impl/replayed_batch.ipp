/// \file
/// The bodies of what loader/detail/replayed_batch.hpp declares. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <wick/async/executor.hpp>
#include <wick/loader/detail/delivery_records.hpp>
#include <wick/loader/detail/receipt_writer.hpp>
#include <wick/loader/detail/replayable.hpp>
#include <wick/loader/detail/replayed_batch.hpp>
#include <wick/loader/detail/retry.hpp>
#include <wick/pipeline/context.hpp>

namespace wick::inline v0_1::detail {

replayed_batch::replayed_batch(run_settings& of, const erased_plan& plan_of_run, const which& what,
                               const replay_options& options, bool with_notes)
    : settings_(of),
      what_(what),
      world_(of.facts().shard),
      share_(replayed_share(world_, options, of.facts().batched)),
      own_plan_(plan_of(plan_of_run)),
      notes_(with_notes ? make_owned<draw_notes>() : nullptr),
      run_(of, own_plan_ ? *own_plan_ : plan_of_run, notes_.get(), false),
      pool_(std::make_shared<slab_pool>(of.pipeline->batch_memory(), 64)),
      completion_(run_, done_, pool_, false),
      job_(of.pipeline->make_batch()) {
  job_->of = &run_;
  const bool batched = of.facts().batched;
  require_replayable(what.epoch, what.number, batched ? plan().batches() : plan().positions(), batched);
}

/// Some plans hold for one epoch, as all do after an edit of the mixture; another rank has another slice.
owned<const erased_plan> replayed_batch::plan_of(const erased_plan& of_run) const {
  if (settings_.facts().plans_each_epoch || settings_.pipeline->mix() != nullptr)
    return settings_.pipeline->plan(share_, settings_.seed, what_.epoch);
  const bool other_share = share_.rank != world_.rank || share_.world != world_.world;
  return other_share ? of_run.for_rank(share_) : nullptr;
}

void replayed_batch::start() {
  batch_job& j = *job_;
  j.order = plan().order(settings_.seed, what_.epoch);
  j.epoch = what_.epoch;
  j.first = what_.number;
  j.count = 1;
  if (run_.facts.batched) {
    const position_range mine = plan().slice(what_.number, j);
    j.number = what_.number;
    j.first = mine.first;
    j.count = mine.count;
  }
  completion_.begin(j);
  std::uint64_t lanes = run_.on.workers();
  if (run_.facts.samples_suspend) lanes = 2 * lanes + run_.on.io().threads();
  lanes = std::min(lanes, j.count);
  j.unfinished.store(lanes + 1, std::memory_order_relaxed);  // one for this function
  for (std::uint64_t begun = 0; begun < lanes; ++begun) {
    try {
      resume(lane(this).handle);
    } catch (...) {  // no memory for its frame: those that have begun do its work
      if (begun == 0) run_.lose(j);
      ended(lanes - begun);
      break;
    }
  }
  ended(1);
}

void replayed_batch::throw_missing() const {
  const std::vector<told_failure> told = tell();
  for (const told_failure& f : told) {
    if (f.entry.action == error_action::fail) throw to_exception(f);
  }
  const bool batched = run_.facts.batched;
  if (!batched && !told.empty()) throw to_exception(told.back());
  const std::string where = " of epoch " + std::to_string(what_.epoch);
  if (batched) {
    refuse_replay("batch " + std::to_string(what_.number) + where + " has no sample");
  }
  refuse_replay(settings_.printable_key(plan().index(*job_, job_->first)) + ", position " +
                std::to_string(what_.number) + where + ", was left out by filter()");
}

receipt replayed_batch::written() {
  batch_job& j = *job_;
  std::sort(j.gaps.begin(), j.gaps.end());  // a batch that is lost was not judged
  notes_->sort();
  receipt out;
  out.seed = settings_.seed;
  out.epoch = what_.epoch;
  out.batch = what_.number;
  receipt_writer writer(out, *notes_, settings_.stage_names, run_.facts.batching, settings_.names);
  std::uint64_t row = 0;
  for (std::uint64_t slot = 0; slot < j.count; ++slot) {
    if (std::binary_search(j.gaps.begin(), j.gaps.end(), slot)) continue;
    const failure at = run_.standing_at(j, slot);
    const failure* f = j.last_failure(slot);
    while (f != nullptr && f->action != error_action::fail) f = j.failure_before(*f);
    if (f != nullptr) continue;
    receipt::sample s;
    s.slot = row++;
    s.position = at.position;
    s.index = at.index;
    s.rank = rank_of(slot);
    s.planned = plan().index(j, j.first + slot);
    writer.add(std::move(s));
  }
  if (run_.facts.batched) writer.add_batch(j.first);
  for (told_failure& f : tell()) out.failures.push_back(std::move(f.entry));
  return out;
}

std::uint64_t replayed_batch::rank_of(std::uint64_t slot) const noexcept {
  const batch_job& j = *job_;
  if (run_.facts.batched) {
    for (std::uint64_t r = 0; r < world_.world; ++r) {
      const position_range part = plan().slice(what_.number, j, {r, world_.world});
      if (j.first + slot - part.first < part.count) return r;
    }
    return share_.rank;
  }
  // Groups of positions, as the scheduler has them.
  const std::uint64_t group = plan().batch_size(), in_group = what_.number % group;
  const std::uint64_t size = std::min(group, plan().positions() - (what_.number - in_group));
  std::uint64_t r = 0;
  while (size * (r + 1) / world_.world <= in_group) ++r;
  return r;
}

std::vector<told_failure> replayed_batch::tell() const {
  std::vector<told_failure> out;
  tell_in_order(*job_, settings_, plan(), out);
  return out;
}

detached replayed_batch::lane(replayed_batch* self) {
  pipeline_run& run = self->run_;
  batch_job& j = *self->job_;
  for (;;) {
    co_await run.on.schedule();  // others' turn: the run's samples
    const std::uint64_t slot = self->next_.fetch_add(1, std::memory_order_relaxed);
    if (slot >= j.count) break;
    failure f;
    f.slot = slot;
    f.position = j.first + slot;
    f.index = self->plan().index(j, f.position);
    f.tries = 0;
    context c = run.context_at(run.place_of(j, slot, f.index), j);
    try {
      task<bool> running = run_or_settle(&run, &j, &c, f);
      co_await running;
    } catch (...) {
      f.cause = std::current_exception();
      j.lose(std::move(f));
    }
  }
  self->ended(1);
}

/// Nothing of this may be touched afterwards.
void replayed_batch::ended(std::uint64_t lanes) noexcept {
  if (job_->unfinished.fetch_sub(lanes, std::memory_order_acq_rel) == lanes) completion_.run(*job_);
}

}  // namespace wick::detail
