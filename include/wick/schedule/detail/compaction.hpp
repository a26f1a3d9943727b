/// \file
/// Closing the gaps of an epoch by the samples at its end.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include <wick/failure/detail/settling.hpp>
#include <wick/observe/detail/stage_clocks.hpp>
#include <wick/resume/epoch_fingerprint.hpp>
#include <wick/run/task.hpp>
#include <wick/sample/context.hpp>
#include <wick/schedule/detail/batch_job.hpp>
#include <wick/schedule/detail/sample_runs.hpp>
#include <wick/schedule/detail/under_way.hpp>
#include <wick/system/detail/brief_lock.hpp>

namespace wick::detail {

/// Batches go through this in their order, whatever order their samples end in: what fills a gap depends on
/// all failures of the epoch before it. Then `Finishing` goes on with each.
template <class Runs, class Finishing>
class compaction {
  using types = typename Runs::types;
  using path_type = typename Runs::path_type;
  using job_type = typename Runs::job_type;
  static constexpr bool batched = types::batched;

 public:
  compaction(Runs& runs, Finishing& finishing, std::size_t batches) : runs_(runs), finishing_(finishing) {
    waiting_.reserve(batches);
  }

  /// All samples of a batch have ended.
  void enter(job_type& j) noexcept {
    if (job_type* const next = turn_of(&j, nullptr)) settle(next);
  }

 private:
  /// `ended` has only samples that have ended; `settled` is done with. The batch whose turn it is, for the
  /// caller to settle; null when that is somebody else's or is not ready.
  job_type* turn_of(job_type* ended, job_type* settled) noexcept {
    std::lock_guard lock(mutex_);
    if (ended != nullptr) {
      waiting_.push_back(ended);
      if (busy_) return nullptr;
    }
    if (settled != nullptr) ++turn_;
    const auto next =
        std::find_if(waiting_.begin(), waiting_.end(), [&](job_type* j) { return j->sequence == turn_; });
    busy_ = next != waiting_.end();
    if (!busy_) return nullptr;
    job_type* const j = *next;
    waiting_.erase(next);
    return j;
  }

  void settle(job_type* j) noexcept {
    while (j != nullptr) {
      try {
        return resume(settle_from(this, j).handle);
      } catch (...) {
        leave_unfilled(*j);
      }
      job_type* const next = turn_of(nullptr, j);
      finishing_.finish(*j);
      j = next;
    }
  }
  /// Whose turn comes next is asked before a batch is published: while one is to be settled, the loader
  /// stays.
  static detached settle_from(compaction* self, job_type* j) {
    while (j != nullptr) {
      if (!j->cancelled.load(std::memory_order_relaxed)) {
        try {
          task<void> filling = fill(self, j);
          co_await filling;
        } catch (...) {
          self->leave_unfilled(*j);
        }
      }
      job_type* const next = self->turn_of(nullptr, j);
      self->finishing_.finish(*j);
      j = next;
    }
  }
  /// Called where want of memory was caught: the batch fails, and the epoch's account of moved samples goes
  /// on.
  void leave_unfilled(job_type& j) noexcept {
    Runs::lose(j);
    if (j.moved_before) moved_ = *j.moved_before;
    j.moved = moved_;
  }

  /// Fills the gaps from the end of the epoch, and leaves out what batches before have taken from there.
  static task<void> fill(compaction* self, job_type* j) {
    Runs& runs = self->runs_;
    if (j->moved_before) self->moved_ = *j->moved_before;
    std::uint64_t end = runs.plan.ordered() - std::min(self->moved_, runs.plan.ordered());
    const std::uint64_t own = end <= j->first ? 0 : std::min(j->count, end - j->first);
    self->leave_to_others(*j, own);
    std::sort(j->gaps.begin(), j->gaps.end());
    std::vector<std::size_t> gaps, unfilled;
    gaps.swap(j->gaps);
    for (const std::size_t gap : gaps) {
      bool filled = false;
      while (!filled && j->state != batch_state::lost && end > j->first + j->count) {
        --end;
        const std::uint64_t index = runs.plan.index(j->order, end);
        runs.path.clocks().mine().clocks[path_type::order_row].ran(1);
        j->print.fetch_add(print_of(end, index), std::memory_order_relaxed);
        context c = runs.context_at({runs.seed, j->epoch, end, index}, *j);
        c.watch();
        under_way::entry here(runs.places, c, j->sequence);
        here.begin();
        failure f;
        f.slot = gap;
        f.position = end;
        f.index = index;
        f.number = j->next_number(gap);
        f.tries = 0;
        task<bool> running = settling<Runs>::run_or_settle(&runs, j, &c, std::move(f));
        filled = co_await running;
      }
      std::erase(j->gaps, gap);
      if (filled) {
        j->fills.emplace_back(gap, end);
        // It counts where it stands.
        const std::uint64_t place = j->first + gap, index = runs.standing_at(*j, gap).index;
        j->print.fetch_add(print_of(place, index) - print_of(place, left_out) - print_of(end, index),
                           std::memory_order_relaxed);
      } else {
        unfilled.push_back(gap);
      }
    }
    j->gaps.swap(unfilled);
    for (std::uint64_t slot = own; slot < j->count; ++slot) j->gaps.push_back(static_cast<std::size_t>(slot));
    self->moved_ = runs.plan.ordered() - end;
    j->moved = self->moved_;
    runs.note_moved(*j, self->moved_);
    bool short_one = j->gaps.size() == j->count;
    if constexpr (batched) {
      short_one = short_one || (runs.path.template stage<types::batching>().drop_last() && !j->gaps.empty());
    }
    if (short_one && j->state != batch_state::lost) j->state = batch_state::past_the_end;
  }
  /// Slots from `own` on belong to batches before: neither their samples nor their failures count here.
  void leave_to_others(job_type& j, std::uint64_t own) {
    if (own == j.count) return;
    std::erase_if(j.failures,
                  [&](const failure& f) { return f.slot >= own && f.slot != failure::whole_batch; });
    std::erase_if(j.gaps, [&](std::size_t slot) { return slot >= own; });
    // What those were counted as is not known any more: all is counted anew.
    std::uint64_t print = 0;
    for (std::uint64_t slot = 0; slot < own; ++slot) {
      const bool gap = std::find(j.gaps.begin(), j.gaps.end(), slot) != j.gaps.end();
      print += print_of(j.first + slot, gap ? left_out : runs_.standing_at(j, slot).index);
    }
    j.print.store(print, std::memory_order_relaxed);
    if (j.unlisted && j.unlisted->slot >= own && j.unlisted->slot != failure::whole_batch) j.unlisted.reset();
    const bool lost = j.unlisted || std::any_of(j.failures.begin(), j.failures.end(), [](const failure& f) {
                        return f.action == error_action::fail;
                      });
    j.state = lost ? batch_state::lost : batch_state::making;
  }

  Runs& runs_;
  Finishing& finishing_;

  std::mutex mutex_;  // of whose turn it is
  std::uint64_t turn_ = 0;
  bool busy_ = false;
  std::vector<job_type*> waiting_;
  // Of the batch whose turn it is.
  std::uint64_t moved_ = 0;  // samples of its epoch that stand where others failed
};

}  // namespace wick::detail
