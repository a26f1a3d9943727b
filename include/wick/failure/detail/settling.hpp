/// \file
/// What is done about a sample that failed: it is tried again, another is drawn in its place, it is left out,
/// or its batch fails.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <utility>
#include <vector>

#include <wick/failure/detail/failed_sample.hpp>
#include <wick/failure/on_error.hpp>
#include <wick/failure/quarantine.hpp>
#include <wick/observe/detail/stage_clocks.hpp>
#include <wick/resume/epoch_fingerprint.hpp>
#include <wick/run/executor.hpp>
#include <wick/run/sleep.hpp>
#include <wick/run/task.hpp>
#include <wick/sample/context.hpp>
#include <wick/sample/detail/dropped.hpp>
#include <wick/sample/random.hpp>

namespace wick::detail {

/// `Runs` has the pipeline and the policy. A substitute is drawn from a random stream of the position's own,
/// and a sample on the quarantine list counts as one that was tried and has failed: a run with the list gives
/// the same batches as the one that made it. Where another sample that was to go into this one has failed,
/// that one is left out or replaced: this one is made again and draws another.
template <class Runs>
class settling {
  using types = typename Runs::types;
  using path_type = typename Runs::path_type;
  using job_type = typename Runs::job_type;

 public:
  /// Does about a failure what the policy says, and writes it down. Whether the slot has a sample afterwards;
  /// else it is a gap, or its batch is lost. \throws std::bad_alloc
  static task<bool> settle(Runs* self, job_type* j, context* c, failure f) {
    const std::uint64_t counted = print_of(f.position, f.index);  // as if it had gone well
    if (f.dropped) {
      f.action = error_action::skip;
      j->print.fetch_add(print_of(f.position, left_out) - counted, std::memory_order_relaxed);
    }
    if (self->only_fails || f.dropped) {
      j->note(std::move(f));
      co_return false;
    }
    random_stream draws(self->seed, c->epoch(), f.position, substitute_stream);
    const std::uint64_t planned = f.index;
    std::vector<std::uint64_t> tried;  // indexes that are no good here
    for (;;) {
      if (f.tries == 0 || !j->cancelled.load(std::memory_order_relaxed)) {
        task<bool> retrying = try_again(self, j, c, &f);
        const bool good = co_await retrying;
        if (good)
          f.action = error_action::retry;
        else if (f.dropped)  // a substitute that is left out is no good: another one
          f.action = f.index != planned ? error_action::replace : error_action::skip;
        else if (!j->cancelled.load(std::memory_order_relaxed))
          f.action = *rule_for(*self, f).action;
      }
      const bool stays = f.of_other();
      if (stays) {
        draw_without(*self, f);
      } else {
        tried.push_back(f.index);
        if (f.action == error_action::replace && !draw(*self, *j, draws, tried, f))
          f.action = f.dropped ? error_action::skip : error_action::fail;
      }
      if (f.action == error_action::skip) {
        j->print.fetch_add(print_of(f.position, left_out) - counted, std::memory_order_relaxed);
      }
      const bool over = f.action != error_action::replace, good = f.action == error_action::retry;
      if (good && f.index != planned) count_substitute(*j, f.position, f.index, counted);
      failure next;
      next.slot = f.slot;
      next.position = f.position;
      next.number = f.number + 1;
      next.others = f.others + (stays ? 1 : 0);
      next.index = stays ? f.index : f.substitute;
      next.tries = 0;
      next.drawn = f.drawn;
      j->note(std::move(f));
      if (over) co_return good;
      f = std::move(next);
      task<bool> trying = attempt(self, j, c, &f);
      const bool substituted = co_await trying;
      if (substituted) {
        count_substitute(*j, f.position, f.index, counted);
        co_return true;
      }
    }
  }

  /// Runs a sample for the first time, outside of a run; a failure is settled. Whether the slot has a sample.
  static task<bool> run_or_settle(Runs* self, job_type* j, context* c, failure f) {
    task<bool> trying = attempt(self, j, c, &f);
    const bool good = co_await trying;
    if (good) co_return true;
    task<bool> rest = settle(self, j, c, std::move(f));
    const bool settled = co_await rest;
    co_return settled;
  }
  /// The same where a failure fails the batch.
  static task<bool> run_or_fail(Runs* self, job_type* j, context* c, failure f) {
    task<bool> trying = attempt(self, j, c, &f);
    const bool good = co_await trying;
    if (!good) j->note(std::move(f));
    co_return good;
  }

 private:
  static constexpr std::uint32_t substitute_stream = 0xFFFF;  // of no stage
  static constexpr std::uint32_t most_in_turn = 100;  // that fail, go well and fail again without an end

  /// A sample that runs alone, in a pipeline where none suspends, is on the clocks like a run of one.
  struct on_the_clocks {
    stage_clocks& clocks;
    stage_clocks::worker& mine = clocks.mine();
    const std::uint64_t begun = now_ticks();
    stopwatch clock{mine, true};
    explicit on_the_clocks(path_type& p) noexcept : clocks(p.clocks()) {}
    ~on_the_clocks() {
      path_type::count(mine.clocks, types::order_end, 1, 1);
      clocks.runs_of(mine).worked(1, now_ticks() - begun);
    }
  };

  static error_rule rule_for(const Runs& runs, const failure& f) {
    return runs.policy.rule_for(runs.stage_of(f));
  }

  /// Runs a sample once. What went wrong is in `f` afterwards.
  static task<bool> attempt(Runs* self, job_type* j, context* c, failure* f) {
    c->move_to({self->seed, c->epoch(), f->position, f->index});
    c->enter(static_cast<std::uint32_t>(types::order_end));
    std::exception_ptr cause;
    try {
      j->columns.forget(static_cast<std::size_t>(f->slot));
      if constexpr (types::samples_suspend) {
        task<void> running = Runs::run_async(self, j, f->slot, c);
        co_await running;
      } else {
        if (j->cancelled.load(std::memory_order_relaxed)) throw cancelled();
        if (self->is_bad(f->index)) self->refuse(*c);
        const typename Runs::end_of_sample end{c};
        on_the_clocks clocks(self->path);
        self->template run<true>(*j, f->slot, *c, &clocks.clock);
      }
    } catch (...) {
      cause = std::current_exception();
    }
    if (self->on.this_slot() == executor::none) co_await self->on.schedule();  // a stranger resumed us
    if (cause == nullptr) co_return true;
    f->take_cause(std::move(cause), c->stage());
    if (!self->is_bad(f->to_blame())) ++f->tries;
    co_return false;
  }

  /// As often as the rule for what went wrong last says, with its pauses.
  static task<bool> try_again(Runs* self, job_type* j, context* c, failure* f) {
    if (f->tries == 0) co_return false;  // on the quarantine list
    for (;;) {
      const error_rule rule = f->dropped ? error_rule{} : rule_for(*self, *f);
      if (f->dropped || f->tries > rule.retries || j->cancelled.load(std::memory_order_relaxed))
        co_return false;
      bool stopped = false;
      try {
        if (rule.backoff.count() > 0) {
          auto pause = sleep_for(pause_before(rule, f->tries), *c);
          co_await pause;
        }
      } catch (...) {
        stopped = true;
      }
      if (stopped) co_return false;
      failure before = *f;
      task<bool> trying = attempt(self, j, c, f);
      const bool good = co_await trying;
      if (good) {
        ++f->tries;
        co_return true;
      }
      if (f->to_blame() == before.to_blame()) continue;
      // That one went well; now it is another that has failed, and has tries of its own.
      f->tries = self->is_bad(f->to_blame()) ? 0 : 1;
      f->number = before.number + 1;
      f->others = before.others + (before.of_other() ? 1 : 0);
      ++before.tries;
      before.action = error_action::retry;
      j->note(std::move(before));
      if (f->tries == 0 || f->number > most_in_turn) co_return false;
    }
  }

  /// What was to go into a sample is left out there, and another is drawn for it when it is made again: as
  /// often as a substitute would be.
  static void draw_without(const Runs& runs, failure& f) {
    if (f.action != error_action::skip && f.action != error_action::replace) return;
    if (f.drawn < runs.policy.options().substitutes) {
      ++f.drawn;
      f.action = error_action::replace;
    } else if (f.action == error_action::replace) {
      f.action = error_action::fail;
    }
  }
  /// Draws a substitute from the samples of the epoch, in f.substitute. False when enough were drawn.
  static bool draw(const Runs& runs, const job_type& j, random_stream& from,
                   std::vector<std::uint64_t>& tried, failure& f) {
    while (f.drawn < runs.policy.options().substitutes) {
      ++f.drawn;
      const std::uint64_t index = runs.plan.substitute(j.order, f.position, from);
      if (std::find(tried.begin(), tried.end(), index) != tried.end()) continue;
      f.substitute = index;
      return true;
    }
    return false;
  }
  static void count_substitute(job_type& j, std::uint64_t position, std::uint64_t index,
                               std::uint64_t counted) noexcept {
    j.print.fetch_add(print_of(position, index) - counted, std::memory_order_relaxed);
  }
};

}  // namespace wick::detail
