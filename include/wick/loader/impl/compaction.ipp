/// \file
/// The bodies of what loader/detail/compaction.hpp declares. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include <wick/async/task.hpp>
#include <wick/batch/epoch_fingerprint.hpp>
#include <wick/loader/detail/batch_completion.hpp>
#include <wick/loader/detail/compaction.hpp>
#include <wick/loader/detail/retry.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/profile/detail/stage_clocks.hpp>

namespace wick::inline v0_1::detail {

/// `ended` has only samples that have ended; `settled` is done with. Returns the batch whose turn it is, for
/// the caller to settle; null when another thread settles it or it is not ready.
batch_job* compaction::turn_of(batch_job* ended, batch_job* settled) noexcept {
  std::lock_guard lock(mutex_);
  if (ended != nullptr) {
    waiting_.push_back(ended);
    if (busy_) return nullptr;
  }
  if (settled != nullptr) ++turn_;
  const auto next =
      std::find_if(waiting_.begin(), waiting_.end(), [&](batch_job* j) { return j->sequence == turn_; });
  busy_ = next != waiting_.end();
  if (!busy_) return nullptr;
  batch_job* const j = *next;
  waiting_.erase(next);
  return j;
}

void compaction::settle_all(batch_job* j) noexcept {
  while (j != nullptr) {
    try {
      return resume(settle_from(this, j).handle);
    } catch (...) {
      leave_unfilled(*j);
    }
    batch_job* const next = turn_of(nullptr, j);
    rest_.finish(*j);
    j = next;
  }
}

/// Whose turn comes next is asked before a batch is published: while one is to be settled, the loader
/// stays.
detached compaction::settle_from(compaction* self, batch_job* j) {
  while (j != nullptr) {
    if (!j->cancelled.load(std::memory_order_relaxed)) {
      try {
        task<void> filling = fill(self, j);
        co_await filling;
      } catch (...) {
        self->leave_unfilled(*j);
      }
    }
    batch_job* const next = self->turn_of(nullptr, j);
    self->rest_.finish(*j);
    j = next;
  }
}

/// Called where a lack of memory was caught: the batch fails, and the epoch's account of moved samples
/// continues.
void compaction::leave_unfilled(batch_job& j) noexcept {
  run_.lose(j);
  if (j.moved_before) moved_ = *j.moved_before;
  j.moved = moved_;
}

/// Fills the gaps from the end of the epoch, and leaves out what batches before have taken from there.
task<void> compaction::fill(compaction* self, batch_job* j) {
  pipeline_run& run = self->run_;
  if (j->moved_before) self->moved_ = *j->moved_before;
  std::uint64_t end = run.plan->ordered() - std::min(self->moved_, run.plan->ordered());
  const std::uint64_t own = end <= j->first ? 0 : std::min(j->count, end - j->first);
  self->leave_to_others(*j, own);
  std::sort(j->gaps.begin(), j->gaps.end());
  std::vector<std::size_t> gaps, unfilled;
  gaps.swap(j->gaps);
  for (const std::size_t gap : gaps) {
    bool filled = false;
    while (!filled && j->state != batch_state::lost && end > j->first + j->count) {
      --end;
      const std::uint64_t index = run.plan->index(*j, end);
      run.clocks.mine().clocks[run.facts.order_row].ran(1);
      j->print.fetch_add(print_of(end, index), std::memory_order_relaxed);
      context c = run.context_at({run.settings.seed, j->epoch, end, index}, *j);
      failure f;
      f.slot = gap;
      f.position = end;
      f.index = index;
      f.number = j->next_number(gap);
      f.tries = 0;
      task<bool> running = run_or_settle(&run, j, &c, std::move(f));
      filled = co_await running;
    }
    std::erase(j->gaps, gap);
    if (filled) {
      {
        const std::lock_guard lock(j->mutex);  // the hang watch may look
        j->history[gap].filled_from = end;
      }
      // It counts where it stands.
      const std::uint64_t place = j->first + gap, index = run.standing_at(*j, gap).index;
      j->print.fetch_add(print_of(place, index) - print_of(place, left_out) - print_of(end, index),
                         std::memory_order_relaxed);
    } else {
      unfilled.push_back(gap);
    }
  }
  j->gaps.swap(unfilled);
  for (std::uint64_t slot = own; slot < j->count; ++slot) j->gaps.push_back(static_cast<std::size_t>(slot));
  self->moved_ = run.plan->ordered() - end;
  j->moved = self->moved_;
  run.note_moved(*j, self->moved_);
  const bool short_one = j->gaps.size() == j->count || (run.facts.drop_last && !j->gaps.empty());
  if (short_one && j->state != batch_state::lost) j->state = batch_state::past_the_end;
}

/// Slots from `own` on belong to batches before: neither their samples nor their failures count here.
void compaction::leave_to_others(batch_job& j, std::uint64_t own) {
  if (own == j.count) return;
  const std::lock_guard lock(j.mutex);  // the hang watch may look
  std::erase_if(j.failures,
                [&](const failure& f) { return f.slot >= own && f.slot != failure::whole_batch; });
  j.link_anew();
  std::erase_if(j.gaps, [&](std::size_t slot) { return slot >= own; });
  std::sort(j.gaps.begin(), j.gaps.end());
  // What those were counted as is not known any more: all is counted again.
  std::uint64_t print = 0;
  for (std::uint64_t slot = 0; slot < own; ++slot) {
    const bool gap = std::binary_search(j.gaps.begin(), j.gaps.end(), slot);
    print += print_of(j.first + slot, gap ? left_out : run_.standing_at(j, slot).index);
  }
  j.print.store(print, std::memory_order_relaxed);
  if (j.unlisted && j.unlisted->slot >= own && j.unlisted->slot != failure::whole_batch) j.unlisted.reset();
  const bool lost = j.unlisted || std::any_of(j.failures.begin(), j.failures.end(), [](const failure& f) {
                      return f.action == error_action::fail;
                    });
  j.state = lost ? batch_state::lost : batch_state::making;
}

}  // namespace wick::detail
