// Implements loader/detail/batch_completion.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>

#include <wick/async/executor.hpp>
#include <wick/base/detail/clock.hpp>
#include <wick/ext/fingerprint.hpp>
#include <wick/loader/detail/batch_completion.hpp>
#include <wick/loader/detail/retry.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/pipeline/error.hpp>

namespace wick::inline v0_1::detail {

void batch_completion::begin(batch_job& j) {
  j.forget();
  j.opened = now_ticks();
  run_.pipeline.begin(j, pool_);
}

void batch_completion::run(batch_job& j) noexcept {
  if (run_.on.this_slot() == executor::none) {
    try {
      return resume(run_on_worker(this, &j).handle);
    } catch (...) {  // otherwise here, in a helper's slot
      const executor::helper slot(run_.on);
      if (run_.facts.batched) run_.lose(j);
      return finish(j);
    }
  }
  finish(j);
}

void batch_completion::make(batch_job& j) noexcept {
  if (j.state != batch_state::whole) return;
  try {
    context c = run_.context_of_batch(j);
    run_.pipeline.finish(j, c);
  } catch (...) {
    run_.lose(j);
  }
}

detached batch_completion::run_on_worker(batch_completion* self, batch_job* j) {
  co_await self->run_.on.schedule();
  self->run(*j);
}

// ---- judging ----

void batch_completion::finish(batch_job& j) noexcept {
  try {
    if (judge(j)) return resume(remake(this, &j).handle);
  } catch (...) {
    run_.lose(j);
  }
  conclude(j);
}

bool batch_completion::deliverable(const batch_job& j) const noexcept {
  if (j.cancelled.load(std::memory_order_relaxed)) return false;
  return !run_.facts.batched || j.state != batch_state::lost;  // without batch(), each sample is on its own
}

/// Whether its samples must be made again, because the one that set their shape failed.
bool batch_completion::judge(batch_job& j) {
  if (!run_.facts.batched || !deliverable(j)) return false;
  std::sort(j.gaps.begin(), j.gaps.end());
  if (auto m = j.first_misfit()) {
    failure f = run_.failure_at(j, m->slot);
    f.number = j.next_number(m->slot);
    f.stage = static_cast<std::uint32_t>(run_.facts.batching);
    f.cause = std::make_exception_ptr(misshapen(m->text));
    j.note(std::move(f));
  } else if (j.stale()) {
    if (j.state != batch_state::remaking) return true;
    throw error("its samples have other shapes each time they are made");
  }
  return false;
}

detached batch_completion::remake(batch_completion* self, batch_job* j) {
  pipeline_run& run = self->run_;
  j->state = batch_state::remaking;
  try {
    run.pipeline.begin(*j, self->pool_);
    for (std::uint64_t slot = 0; slot < j->count && j->state != batch_state::lost; ++slot) {
      if (std::binary_search(j->gaps.begin(), j->gaps.end(), slot)) continue;
      failure f = run.failure_at(*j, slot);
      f.number = j->next_number(slot);
      context c = run.context_at({run.settings.seed, j->epoch, f.position, f.index}, *j);
      f.tries = 0;
      task<bool> running = run_or_fail(&run, j, &c, std::move(f));
      co_await running;
    }
  } catch (...) {
    run.lose(*j);
  }
  self->finish(*j);
}

// ---- the batch stages ----

void batch_completion::conclude(batch_job& j) noexcept {
  if (run_.facts.batches_suspend && deliverable(j)) {
    try {
      return resume(conclude_async(this, &j).handle);
    } catch (...) {
      run_.lose(j);
    }
  }
  context c = run_.context_of_batch(j);
  c.enter(static_cast<std::uint32_t>(run_.facts.batching));
  try {
    if (!deliverable(j)) {
      j.drop();
    } else {
      if (run_.facts.batched) close(j);
      if (run_.facts.ends_with_batch)
        j.state = batch_state::whole;
      else if (run_.facts.batched)
        finish_marked(j, c);
      else
        run_.pipeline.finish(j, c);
    }
  } catch (...) {
    j.fail_whole(c.stage(), std::current_exception());
  }
  c.give_back();
  publish(j);
}

/// Lets other threads see which stage after batch() the batch is in.
void batch_completion::finish_marked(batch_job& j, context& c) {
  struct marked {
    run_mark& mark;
    ~marked() { mark.end_shown(); }
  } const until_the_end{run_.clocks.mine().mark};
  until_the_end.mark.begin(j.sequence, 0, 0, now_ticks());
  c.show_stage(&until_the_end.mark.stage);
  run_.pipeline.finish(j, c);
}

detached batch_completion::conclude_async(batch_completion* self, batch_job* j) {
  context c = self->run_.context_of_batch(*j);
  c.enter(static_cast<std::uint32_t>(self->run_.facts.batching));
  try {
    c.watch(now_ticks());
    if (j->under_way) j->under_way->begin(j->count, c.doing());
    self->close(*j);
    task<void> rest = self->run_.pipeline.finish_async(j, &c);
    co_await rest;
  } catch (...) {
    j->fail_whole(c.stage(), std::current_exception());
  }
  c.give_back();
  if (j->under_way) j->under_way->end(j->count);
  self->publish(*j);
}

void batch_completion::publish(batch_job& j) noexcept {
  j.published = now_ticks();
  done_.publish(j.sequence, &j);
}

/// Adds the delivered samples to the fingerprint, and closes the gaps.
void batch_completion::close(batch_job& j) {
  if (j.rows() == 0) {
    run_.pipeline.begin(j, pool_);    // like a batch that never had a sample
    if (run_.facts.packs) j.close();  // its rows are padding: other ranks have theirs
    return;
  }
  fingerprint_hash shape;
  j.describe(shape);
  std::uint64_t print = shape.value() * j.rows();
  if (with_content_) {
    for (std::uint64_t slot = 0, gap = 0; slot < j.count; ++slot) {
      if (gap < j.gaps.size() && j.gaps[gap] == slot)
        ++gap;
      else
        print += j.content(static_cast<std::size_t>(slot));
    }
  }
  j.print.fetch_add(print, std::memory_order_relaxed);
  j.close();
}

}  // namespace wick::detail
