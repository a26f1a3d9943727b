// Implements loader/detail/retry.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>
#include <utility>
#include <vector>

#include <wick/async/executor.hpp>
#include <wick/async/sleep.hpp>
#include <wick/base/detail/clock.hpp>
#include <wick/batch/epoch_fingerprint.hpp>
#include <wick/failures/on_error.hpp>
#include <wick/loader/detail/retry.hpp>
#include <wick/pipeline/random.hpp>
#include <wick/profile/detail/stage_clocks.hpp>

namespace wick::inline v0_1::detail {

/// Times a sample that runs alone, in a pipeline where none suspends, as a run of one.
struct on_the_clocks {
  pipeline_run& of;
  context& sample;
  stage_clocks::worker& mine = of.clocks.mine();
  const std::uint64_t begun = now_ticks();
  stopwatch clock{mine, true};
  on_the_clocks(pipeline_run& r, const batch_job& j, std::uint64_t slot, context& c) noexcept
      : of(r), sample(c) {
    mine.mark.begin(j.sequence, j.first + slot, 1, begun);
    c.show_stage(&mine.mark.stage);
    c.enter_source(c.stage());
  }
  on_the_clocks(const on_the_clocks&) = delete;
  on_the_clocks& operator=(const on_the_clocks&) = delete;
  ~on_the_clocks() {
    mine.mark.end_shown();
    sample.show_stage(nullptr);
    of.count(mine.clocks, of.facts.first, 1, 1);
    of.clocks.runs_of(mine).worked(1, now_ticks() - begun);
  }
};

namespace {

constexpr std::uint32_t substitute_stream = 0xFFFF;  // no stage's
constexpr std::uint32_t most_in_turn = 100;          // in case failure and success alternate forever

on_error::rule rule_for(const run_settings& s, const failure& f) { return s.policy.rule_for(s.stage_of(f)); }

/// Runs a sample once. If it fails, the failure is in `f` afterwards.
task<bool> attempt(pipeline_run* run, batch_job* j, context* c, failure* f) {
  c->move_to({run->settings.seed, c->epoch(), f->position, f->index});
  std::exception_ptr cause;
  try {
    j->forget_slot(static_cast<std::size_t>(f->slot));
    const sample_under_way sample(*run, *j, *c);
    if (run->facts.samples_suspend) {
      task<void> running = run->pipeline.run_async(j, f->slot, c);
      co_await running;
    } else {
      on_the_clocks clocks(*run, *j, f->slot, *c);
      run->pipeline.run_timed(*j, f->slot, *c, clocks.clock);
    }
  } catch (...) {
    cause = std::current_exception();
  }
  if (run->on.this_slot() == executor::none)
    co_await run->on.schedule();  // one of the user's threads resumed it
  if (cause == nullptr) co_return true;
  f->take_cause(std::move(cause), c->stage());
  if (!run->settings.is_bad(f->to_blame())) ++f->tries;
  co_return false;
}

/// Retries as often as the rule for the latest failure says, with its pauses.
task<bool> try_again(pipeline_run* run, batch_job* j, context* c, failure* f) {
  if (f->tries == 0) co_return false;  // on the quarantine list
  for (;;) {
    const on_error::rule rule = f->dropped ? on_error::rule{} : rule_for(run->settings, *f);
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
    task<bool> trying = attempt(run, j, c, f);
    const bool good = co_await trying;
    if (good) {
      ++f->tries;
      co_return true;
    }
    if (f->to_blame() == before.to_blame()) continue;
    // That sample succeeded; now another one has failed, and has tries of its own.
    f->tries = run->settings.is_bad(f->to_blame()) ? 0 : 1;
    f->number = before.number + 1;
    f->others = before.others + (before.of_other() ? 1 : 0);
    ++before.tries;
    before.action = error_action::retry;
    j->note(std::move(before));
    if (f->tries == 0 || f->number > most_in_turn) co_return false;
  }
}

/// Leaves a failed other out of its sample, so that another is drawn when the sample is made again: as often
/// as a substitute would be.
void draw_without(const run_settings& s, failure& f) {
  if (f.action != error_action::skip && f.action != error_action::replace) return;
  if (f.drawn < s.policy.options().substitutes) {
    ++f.drawn;
    f.action = error_action::replace;
  } else if (f.action == error_action::replace) {
    f.action = error_action::fail;
  }
}

/// Draws a substitute from the epoch's samples, into f.substitute. False when enough were drawn.
bool draw(const pipeline_run& run, const batch_job& j, random_stream& from, std::vector<std::uint64_t>& tried,
          failure& f) {
  while (f.drawn < run.settings.policy.options().substitutes) {
    ++f.drawn;
    const std::uint64_t index = run.plan->substitute(j, f.position, from);
    if (std::find(tried.begin(), tried.end(), index) != tried.end()) continue;
    f.substitute = index;
    return true;
  }
  return false;
}

void count_substitute(batch_job& j, std::uint64_t position, std::uint64_t index,
                      std::uint64_t counted) noexcept {
  j.print.fetch_add(print_of(position, index) - counted, std::memory_order_relaxed);
}

}  // namespace

task<bool> settle(pipeline_run* run, batch_job* j, context* c, failure f) {
  const std::uint64_t counted = print_of(f.position, f.index);  // as if it had succeeded
  if (f.dropped) {
    f.action = error_action::skip;
    j->print.fetch_add(print_of(f.position, left_out) - counted, std::memory_order_relaxed);
  }
  if (run->settings.only_fails || f.dropped) {
    j->note(std::move(f));
    co_return false;
  }
  random_stream draws(run->settings.seed, c->epoch(), f.position, substitute_stream);
  const std::uint64_t planned = f.index;
  std::vector<std::uint64_t> tried;  // indexes that can't be used here
  for (;;) {
    if (f.tries == 0 || !j->cancelled.load(std::memory_order_relaxed)) {
      task<bool> retrying = try_again(run, j, c, &f);
      const bool good = co_await retrying;
      if (good)
        f.action = error_action::retry;
      else if (f.dropped)  // a filtered substitute is of no use: draw another
        f.action = f.index != planned ? error_action::replace : error_action::skip;
      else if (!j->cancelled.load(std::memory_order_relaxed))
        f.action = *rule_for(run->settings, f).action;
    }
    const bool stays = f.of_other();
    if (stays) {
      draw_without(run->settings, f);
    } else {
      tried.push_back(f.index);
      if (f.action == error_action::replace && !draw(*run, *j, draws, tried, f))
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
    task<bool> trying = attempt(run, j, c, &f);
    const bool substituted = co_await trying;
    if (substituted) {
      count_substitute(*j, f.position, f.index, counted);
      co_return true;
    }
  }
}

task<bool> run_or_fail(pipeline_run* run, batch_job* j, context* c, failure f) {
  task<bool> trying = attempt(run, j, c, &f);
  const bool good = co_await trying;
  if (!good) j->note(std::move(f));
  co_return good;
}

}  // namespace wick::detail
