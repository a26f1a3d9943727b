/// \file
/// The end of a batch: all its samples have ended, well or not; it is judged, its gaps are closed or filled,
/// and it goes through the batch stages.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <wick/batch/detail/slab.hpp>
#include <wick/failure/detail/settling.hpp>
#include <wick/observe/clock.hpp>
#include <wick/order/detail/epoch_plan.hpp>
#include <wick/run/executor.hpp>
#include <wick/run/sequencer.hpp>
#include <wick/run/task.hpp>
#include <wick/sample/context.hpp>
#include <wick/sample/error.hpp>
#include <wick/sample/fingerprint.hpp>
#include <wick/schedule/detail/compaction.hpp>
#include <wick/schedule/detail/sample_runs.hpp>

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
        compact_(batched && runs.policy.options().compact),
        compaction_(runs, *this, done.capacity()) {}

  /// Makes room for the samples of a batch. `moved`: of the epoch's samples, by the batches before, where
  /// that is known.
  void begin(job_type& j, std::optional<std::uint64_t> moved) {
    j.forget();
    j.opened = now_ticks();
    j.moved = moved.value_or(0);
    j.moved_before = moved || j.number != 0 ? moved : std::uint64_t{0};
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
    if (j.state != batch_state::whole) return;
    try {
      j.value.emplace(j.columns.finish(j.rows()));
    } catch (...) {
      lose(j);
    }
  }

 private:
  void end(job_type& j) noexcept {
    if (compact_)
      compaction_.enter(j);
    else
      finish(j);
  }
  static void lose(job_type& j) noexcept { Runs::lose(j); }

  static detached run_on_worker(finishing* self, job_type* j) {
    co_await self->runs_.on.schedule();
    self->run(*j);
  }

  // Always of the full size, so that a short last batch uses the same memory as the others.
  void begin_columns(job_type& j) {
    if constexpr (batched) {
      j.columns.begin(runs_.plan.slots(), runs_.path.template stage<types::batching>().order(), pool_);
      if constexpr (path_type::plan_type::packs) runs_.plan.arrange(j.number, j.order, j.columns);
    } else {
      j.columns.begin(j.count, layout::channels_last, pool_);
    }
  }

  // ---- judging ----

  friend class compaction<Runs, finishing>;
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
    return !batched || (j.state != batch_state::lost &&
                        j.state != batch_state::past_the_end);  // without batch() each sample is on its own
  }

  /// Whether its samples have to be made again: one that failed had said what shape they have.
  bool judge(job_type& j) {
    if constexpr (batched) {
      if (!deliverable(j)) return false;
      std::sort(j.gaps.begin(), j.gaps.end());
      if (auto m = j.columns.first_misfit(static_cast<std::size_t>(j.count), j.gaps)) {
        failure f = runs_.standing_at(j, m->slot);
        f.number = j.next_number(m->slot);
        f.stage = static_cast<std::uint32_t>(types::batching);
        f.cause = std::make_exception_ptr(misshapen(m->text));
        j.note(std::move(f));
      } else if (j.columns.stale(j.gaps)) {
        if (j.state != batch_state::remaking) return true;
        throw error("its samples have other shapes each time they are made");
      }
    }
    return false;
  }

  static detached remake(finishing* self, job_type* j) {
    j->state = batch_state::remaking;
    try {
      self->begin_columns(*j);
      for (std::uint64_t slot = 0; slot < j->count && j->state != batch_state::lost; ++slot) {
        if (std::binary_search(j->gaps.begin(), j->gaps.end(), slot)) continue;
        failure f = self->runs_.standing_at(*j, slot);
        f.number = j->next_number(slot);
        context c = self->runs_.context_at({self->runs_.seed, j->epoch, f.position, f.index}, *j);
        f.tries = 0;
        task<bool> running = settling<Runs>::run_or_fail(&self->runs_, j, &c, std::move(f));
        co_await running;
      }
    } catch (...) {
      lose(*j);
    }
    self->finish(*j);
  }

  // ---- the batch stages ----

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
        j.state = batch_state::whole;
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
    publish(j);
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
    self->publish(*j);
  }

  void publish(job_type& j) noexcept {
    j.published = now_ticks();
    done_.publish(j.sequence, &j);
  }

  context batch_context(const job_type& j) noexcept {
    static constexpr sample_names batches{
        nullptr, [](const void*, std::uint64_t number) { return "batch " + std::to_string(number); }};
    return context({runs_.seed, j.epoch, j.first, j.number}, &runs_.on, &runs_.budget, runs_.stop->token(),
                   j.pass, &batches);
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
    if constexpr (requires { j.columns.seal(j.rows()); }) j.columns.seal(j.rows());
  }

  Runs& runs_;
  sequencer<job_type>& done_;
  const std::shared_ptr<slab_pool> pool_;
  const bool with_content_, compact_;
  compaction<Runs, finishing> compaction_;
};

}  // namespace wick::detail
