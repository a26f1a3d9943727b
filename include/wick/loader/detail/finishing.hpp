/// \file
/// The end of a batch: all its samples have ended, well or not; it is judged, its gaps are closed or filled,
/// and it goes through the batch stages.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <wick/sample/context.hpp>
#include <wick/loader/detail/sample_runs.hpp>
#include <wick/resume/epoch_fingerprint.hpp>
#include <wick/sample/error.hpp>
#include <wick/sample/fingerprint.hpp>
#include <wick/batch/detail/slab.hpp>
#include <wick/run/executor.hpp>
#include <wick/run/sequencer.hpp>
#include <wick/run/task.hpp>

namespace wick::detail {

/// Called for each batch by whoever ended its last sample; publishes it in the end. Batches that have nothing
/// to do with each other are finished in any order, but compaction goes by their numbers: what fills a gap
/// depends on all failures of the epoch before it.
template <class Runs>
class finishing {
  using types = typename Runs::types;
  using path_type = typename Runs::path_type;
  using job_type = typename Runs::job_type;
  using value = typename types::value;
  static constexpr bool batched = types::batched;

 public:
  /// Where nothing comes behind batch(), what leaves is made by the consumer, in make(): what a worker makes
  /// and the consumer drops goes from processor to processor, its memory to another thread's allocator, for
  /// each batch.
  static constexpr bool made_by_consumer = batched && types::batching + 1 == types::size;

  finishing(Runs& runs, sequencer<job_type>& done, std::shared_ptr<slab_pool> pool, bool with_content)
      : runs_(runs),
        done_(done),
        pool_(std::move(pool)),
        with_content_(with_content),
        compact_(batched && runs.policy.options().compact) {
    waiting_.reserve(done.capacity());
  }

  /// Makes room for the samples of a batch. `moved`: of the epoch's samples, by the batches before, where
  /// that is known.
  void begin(job_type& j, std::optional<std::uint64_t> moved) {
    j.forget();
    j.moved = moved.value_or(0);
    j.goes_on = !moved && j.number != 0;
    begin_columns(j);
  }

  /// Nothing of the loader may be touched after this: the consumer may have taken the batch and destroyed it.
  /// What follows runs stages, so it needs a thread with a slot: a consumer that drops its batches, or that
  /// opens one which workers have ended before it is done with that, has none.
  void run(job_type& j) noexcept {
    if (runs_.on.this_slot() == executor::none) {
      try {
        return resume(run_on_worker(this, &j).handle);
      } catch (...) {  // here, then, in a slot that helpers have
        const executor::helper slot(runs_.on);
        if constexpr (batched) lose(j);
        return end(j);
      }
    }
    end(j);
  }

  /// The consumer, for a batch that it has taken.
  static void make(job_type& j) noexcept {
    if (!j.whole) return;
    try {
      j.value.emplace(j.columns.finish(j.rows()));
    } catch (...) {
      lose(j);
    }
  }

 private:
  void end(job_type& j) noexcept {
    if (compact_) {
      if (job_type* const next = turn_of(&j, nullptr)) settle(next);
    } else {
      finish(j);
    }
  }
  /// There is no memory to end a batch as it should be; called where that was caught.
  static void lose(job_type& j) noexcept {
    j.fail_whole(static_cast<std::uint32_t>(types::batching), std::current_exception());
  }

  static detached run_on_worker(finishing* self, job_type* j) {
    co_await self->runs_.on.schedule();
    self->run(*j);
  }

  // Always of the full size, so that a short last batch uses the same memory as the others.
  void begin_columns(job_type& j) {
    if constexpr (batched) {
      j.columns.begin(runs_.plan.slots(), runs_.path.template stage<types::batching>().order(), pool_);
    } else {
      j.columns.begin(j.count, layout::channels_last, pool_);
    }
  }

  // ---- compaction: batches in their order
  // --------------------------------------------------------------------------

  /// `ended` has only samples that have ended; `settled` is done with. The batch whose turn it is, for the
  /// caller to settle; null when that is somebody else's or is not ready.
  job_type* turn_of(job_type* ended, job_type* settled) noexcept {
    std::lock_guard lock(mutex_);
    if (ended != nullptr) {
      ended->ended = true;
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
      finish(*j);
      j = next;
    }
  }
  /// Whose turn comes next is asked before a batch is published: while one is to be settled, the loader
  /// stays.
  static detached settle_from(finishing* self, job_type* j) {
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
      self->finish(*j);
      j = next;
    }
  }
  /// Called where want of memory was caught: the batch fails, and the epoch's account of moved samples goes
  /// on.
  void leave_unfilled(job_type& j) noexcept {
    lose(j);
    if (!j.goes_on) moved_ = j.moved;
    j.moved = moved_;
  }

  /// Fills the gaps from the end of the epoch, and leaves out what batches before have taken from there.
  static task<void> fill(finishing* self, job_type* j) {
    Runs& runs = self->runs_;
    if (!j->goes_on) self->moved_ = j->moved;
    std::uint64_t end = runs.plan.ordered() - std::min(self->moved_, runs.plan.ordered());
    const std::uint64_t own = end <= j->first ? 0 : std::min(j->count, end - j->first);
    self->leave_to_others(*j, own);
    std::sort(j->gaps.begin(), j->gaps.end());
    std::vector<std::size_t> gaps, unfilled;
    gaps.swap(j->gaps);
    for (const std::size_t gap : gaps) {
      bool filled = false;
      while (!filled && !j->lost && end > j->first + j->count) {
        --end;
        const std::uint64_t index = runs.plan.index(j->order, end);
        runs.path.clocks().mine()[path_type::order_row].ran(1);
        j->print.fetch_add(print_of(end, index), std::memory_order_relaxed);
        context c = runs.context_at({runs.seed, j->epoch, end, index}, *j);
        failure f;
        f.slot = gap;
        f.position = end;
        f.index = index;
        f.number = self->next_number(*j, gap);
        f.tries = 0;
        task<bool> running = Runs::run_or_settle(&runs, j, &c, std::move(f));
        filled = co_await running;
      }
      std::erase(j->gaps, gap);
      if (filled) {
        j->fills.emplace_back(gap, end);
        // It counts where it stands.
        const std::uint64_t place = j->first + gap, index = self->standing_at(*j, gap).index;
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
    j->past_the_end = short_one && !j->lost;
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
      print += print_of(j.first + slot, gap ? left_out : standing_at(j, slot).index);
    }
    j.print.store(print, std::memory_order_relaxed);
    if (j.unlisted && j.unlisted->slot >= own && j.unlisted->slot != failure::whole_batch) j.unlisted.reset();
    j.lost = j.unlisted || std::any_of(j.failures.begin(), j.failures.end(),
                                       [](const failure& f) { return f.action == error_action::fail; });
  }
  static std::uint32_t next_number(const job_type& j, std::uint64_t slot) noexcept {
    std::uint32_t n = 0;
    for (const failure& f : j.failures) n = f.slot == slot ? std::max(n, f.number + 1) : n;
    return n;
  }

  // ---- judging
  // ------------------------------------------------------------------------------------------------------

  void finish(job_type& j) noexcept {
    try {
      if (judge(j)) return resume(remake(this, &j).handle);
    } catch (...) {
      lose(j);
    }
    conclude(j);
  }

  bool deliverable(const job_type& j) const noexcept {
    if (j.cancelled.load(std::memory_order_relaxed)) return false;
    return !batched || (!j.lost && !j.past_the_end);  // without batch() each sample is on its own
  }

  /// Whether its samples have to be made again: one that failed had said what shape they have.
  bool judge(job_type& j) {
    if constexpr (batched) {
      if (!deliverable(j)) return false;
      std::sort(j.gaps.begin(), j.gaps.end());
      if (auto m = j.columns.first_misfit(static_cast<std::size_t>(j.count), j.gaps)) {
        failure f = standing_at(j, m->slot);
        f.number = next_number(j, m->slot);
        f.stage = static_cast<std::uint32_t>(types::batching);
        f.cause = std::make_exception_ptr(misshapen(m->text));
        j.note(std::move(f));
      } else if (j.columns.stale(j.gaps)) {
        if (!j.remade) return true;
        throw error("its samples have other shapes each time they are made");
      }
    }
    return false;
  }

  /// The sample in a slot that is no gap: the one planned, or what came in its place.
  failure standing_at(const job_type& j, std::uint64_t slot) const {
    failure out;
    out.slot = slot;
    out.position = j.first + slot;
    for (const auto& [gap, position] : j.fills) {
      if (gap == slot) out.position = position;
    }
    const failure* last = nullptr;
    for (const failure& f : j.failures) {
      if (f.slot == slot && f.position == out.position && (last == nullptr || f.number > last->number))
        last = &f;
    }
    if (last == nullptr)
      out.index = runs_.plan.index(j.order, out.position);
    else
      out.index = last->action == error_action::replace ? last->substitute : last->index;
    return out;
  }

  static detached remake(finishing* self, job_type* j) {
    j->remade = true;
    try {
      self->begin_columns(*j);
      for (std::uint64_t slot = 0; slot < j->count && !j->lost; ++slot) {
        if (std::binary_search(j->gaps.begin(), j->gaps.end(), slot)) continue;
        failure f = self->standing_at(*j, slot);
        f.number = next_number(*j, slot);
        context c = self->runs_.context_at({self->runs_.seed, j->epoch, f.position, f.index}, *j);
        f.tries = 0;
        task<bool> running = Runs::run_or_fail(&self->runs_, j, &c, std::move(f));
        co_await running;
      }
    } catch (...) {
      lose(*j);
    }
    self->finish(*j);
  }

  // ---- the batch stages
  // ---------------------------------------------------------------------------------------------

  void conclude(job_type& j) noexcept {
    if constexpr (types::batches_suspend) {
      try {
        if (deliverable(j)) return resume(conclude_async(this, &j).handle);
      } catch (...) {
        lose(j);
      }
    }
    context c = batch_context(j);
    c.enter(static_cast<std::uint32_t>(types::batching));
    try {
      if (!deliverable(j)) {
        j.columns.drop();
      } else if constexpr (types::batches_suspend) {
        // conclude_async does the rest
      } else if constexpr (made_by_consumer) {
        close(j);
        j.whole = true;
      } else if constexpr (batched) {
        close(j);
        j.value.emplace(runs_.path.template pass_batch<types::batching + 1>(j.columns.finish(j.rows()), c));
      } else {
        j.value.emplace(j.columns.finish(j.count));
      }
    } catch (...) {
      j.fail_whole(c.stage(), std::current_exception());
    }
    c.give_back();
    done_.publish(j.sequence, &j);
  }

  static detached conclude_async(finishing* self, job_type* j) {
    context c = self->batch_context(*j);
    c.enter(static_cast<std::uint32_t>(types::batching));
    try {
      self->close(*j);
      auto batch = j->columns.finish(j->rows());
      task<value> rest =
          path_type::template pass_batch_async<types::batching + 1>(&self->runs_.path, std::move(batch), &c);
      value v = co_await rest;
      j->value.emplace(std::move(v));
    } catch (...) {
      j->fail_whole(c.stage(), std::current_exception());
    }
    c.give_back();
    self->done_.publish(j->sequence, j);
  }

  context batch_context(const job_type& j) noexcept {
    return runs_.context_at({runs_.seed, j.epoch, j.first, j.number}, j);
  }

  /// What was delivered is counted, and the gaps are gone.
  void close(job_type& j) {
    if (j.rows() == 0) return begin_columns(j);  // as a batch that never had a sample
    fingerprint_hash shape;
    j.columns.describe(shape);
    std::uint64_t print = shape.value() * j.rows();
    if (with_content_) {
      for (std::uint64_t slot = 0, gap = 0; slot < j.count; ++slot) {
        if (gap < j.gaps.size() && j.gaps[gap] == slot) {
          ++gap;
        } else {
          print += j.columns.content(static_cast<std::size_t>(slot), j.first + slot);
        }
      }
    }
    j.print.fetch_add(print, std::memory_order_relaxed);
    if (!j.gaps.empty()) j.columns.close(j.gaps, static_cast<std::size_t>(j.count));
  }

  Runs& runs_;
  sequencer<job_type>& done_;
  const std::shared_ptr<slab_pool> pool_;
  const bool with_content_, compact_;

  std::mutex mutex_;  // of whose turn it is
  std::uint64_t turn_ = 0;
  bool busy_ = false;
  std::vector<job_type*> waiting_;
  // Of the batch whose turn it is.
  std::uint64_t moved_ = 0;  // samples of its epoch that stand where others failed
};

}  // namespace wick::detail
