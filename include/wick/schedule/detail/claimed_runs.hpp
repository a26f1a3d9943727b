/// \file
/// A run of samples that a worker has claimed: each goes through the stages into its slot; what fails is
/// settled.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <type_traits>
#include <utility>
#include <vector>

#include <wick/failure/detail/settling.hpp>
#include <wick/failure/quarantine.hpp>
#include <wick/observe/detail/stage_clocks.hpp>
#include <wick/resume/epoch_fingerprint.hpp>
#include <wick/run/executor.hpp>
#include <wick/run/task.hpp>
#include <wick/sample/context.hpp>
#include <wick/schedule/detail/batch_job.hpp>
#include <wick/schedule/detail/pace.hpp>
#include <wick/schedule/detail/prefetch_choice.hpp>
#include <wick/schedule/detail/walk_ahead.hpp>

namespace wick::detail {

/// `Owner` is told of the samples that have ended, by finish_some(job, count), and, where samples suspend,
/// gets back a token for each. Any thread that has a slot.
template <class Runs, class Owner>
class claimed_runs {
  using types = typename Runs::types;
  using path_type = typename Runs::path_type;
  using job_type = typename Runs::job_type;
  using source_type = std::remove_cvref_t<decltype(std::declval<const path_type&>().source())>;
  static constexpr bool batched = types::batched;
  static constexpr std::size_t order_row = path_type::order_row;

 public:
  claimed_runs(Runs& runs, Owner& owner) noexcept : runs_(runs), owner_(owner) {}

  /// How long samples take.
  const wick::detail::pace& pace() const noexcept { return pace_; }

  /// Slots [from, from + count) of a batch. Those that suspend end later, on any worker.
  void run(job_type& j, std::uint64_t from, std::uint64_t count) noexcept {
    const std::uint64_t first = j.first + from, moved_from = runs_.moved_from(j);
    if (const std::uint64_t own = moved_from - std::min(first, moved_from); own < count) {
      // The rest stands elsewhere by now, and its slots are left out.
      const std::uint64_t rest = count - own;
      if (own != 0) run_all(j, from, own);
      owner_.give_tokens(rest);
      owner_.finish_some(j, rest);
    } else {
      run_all(j, from, count);
    }
  }

 private:
  void run_all(job_type& j, std::uint64_t from, std::uint64_t count) noexcept {
    stage_clocks::worker& mine = runs_.path.clocks().mine();
    stage_clock* const clocks = mine.clocks;
    const std::uint64_t begun = now_ticks();
    const bool chooses = prefetching_source<source_type> && !types::samples_suspend && !pace_.slow_samples();
    const std::size_t depth = chooses ? depths_.next() : 0;
    std::uint64_t print = 0;
    const auto computed = [&](std::uint64_t first, const std::uint64_t* indexes, std::uint64_t n) {
      if constexpr (batched) {
        print += prints_of(first, indexes, n);
        // A sample that may end while others are begun is counted before it is.
        if constexpr (types::samples_suspend)
          j.print.fetch_add(std::exchange(print, 0), std::memory_order_relaxed);
      }
    };
    const auto for_each = [&](auto&& one) {
      walk_ahead(runs_.plan, j.order, runs_.path.source(), j.first + from, count, prefetch_choice::all[depth],
                 computed, one);
    };
    if constexpr (types::samples_suspend) {
      clocks[order_row].ran(count);  // before the batch can end, so that a report then has them
      for_each([&](std::uint64_t i, std::uint64_t index) {
        const place where = runs_.place_of(j, from + i, index);
        try {
          resume(run_one(this, &j, from + i, where).handle);
        } catch (...) {  // no memory for its frame: nothing of it has begun
          lose(j, from + i, where);
        }
      });
      took(mine, count, now_ticks() - begun);
    } else {
      // Clocks are read between stages for slow samples, and for one in 64 runs of the fast ones, which
      // counts as 64.
      const bool slow = pace_.slow_samples();
      const bool timed = slow || clocks[order_row].count() % (64 * count) < count;
      context c = runs_.context_at({}, j);
      std::vector<failure> failed;
      const quarantine* const bad = runs_.bad.empty() ? nullptr : &runs_.bad;
      // A fast run in 64 stands for all of them.
      const std::uint64_t weight = slow ? 1 : timed ? 64 : 0;
      if (timed) {
        stopwatch clock(mine, slow, weight);
        for_each([&](std::uint64_t i, std::uint64_t index) {
          run_here<true>(j, from + i, index, bad, c, &clock, failed);
        });
      } else {
        run_probe probe(mine, begun);
        for_each([&](std::uint64_t i, std::uint64_t index) {
          run_here<false>(j, from + i, index, bad, c, nullptr, failed);
        });
        probe.end(runs_.path.clocks().runs_of(mine), begun);
      }
      c.give_back();
      path_type::count(clocks, types::order_end, count, weight * count);
      clocks[order_row].ran(count);
      clocks[order_row].worked(weight * count, 0);
      const std::uint64_t passed = now_ticks() - begun;
      took(mine, count, passed);
      if (chooses && !timed) depths_.learn(depth, count, passed);
      const std::uint64_t good = count - failed.size();
      j.print.fetch_add(print, std::memory_order_relaxed);
      if (!failed.empty()) settle_all(j, failed);
      owner_.finish_some(j, good);
    }
  }

  void took(stage_clocks::worker& mine, std::uint64_t count, std::uint64_t ticks) noexcept {
    pace_.learn(count, ticks);
    runs_.path.clocks().runs_of(mine).worked(count, ticks);
  }

  template <bool Timed>
  void run_here(job_type& j, std::uint64_t slot, std::uint64_t index, const quarantine* bad, context& c,
                stopwatch* clock, std::vector<failure>& failed) noexcept {
    c.move_to(runs_.place_of(j, slot, index));
    if constexpr (Timed) c.follow(clock->follows(c.position()));
    try {
      if (bad != nullptr && bad->has(index)) runs_.refuse(c);
      runs_.template run<Timed>(j, slot, c, clock);
    } catch (...) {
      if constexpr (Timed) clock->mark(std::min<std::size_t>(c.stage(), order_row));
      add_failed(j, failed, slot, c);
    }
  }
  [[gnu::noinline]] void add_failed(job_type& j, std::vector<failure>& to, std::uint64_t slot,
                                    const context& c) noexcept {
    failure f = runs_.failed(slot, c, std::current_exception());
    try {
      to.push_back(f);
    } catch (...) {
      j.lose(std::move(f));  // and with it the batch: this one counts as ended
    }
  }
  [[gnu::noinline]] void settle_all(job_type& j, std::vector<failure>& failed) noexcept {
    for (failure& f : failed) {
      try {
        resume(settle_one(this, &j, &f).handle);
      } catch (...) {
        j.lose(std::move(f));
        owner_.finish_some(j, 1);
      }
    }
  }
  /// What has failed in a pipeline where no stage suspends. It waits for a retry all the same.
  static detached settle_one(claimed_runs* self, job_type* j, failure* of) {
    failure f = std::move(*of);
    context c = self->runs_.context_at({self->runs_.seed, j->epoch, f.position, f.index}, *j);
    try {
      task<bool> settled = settling<Runs>::settle(&self->runs_, j, &c, f);
      co_await settled;
    } catch (...) {
      j->lose(f);
    }
    f.cause = nullptr;  // whatever was thrown is gone when the sample has ended
    self->owner_.finish_some(*j, 1);
  }
  /// A sample for which there was no memory; called where that was caught.
  [[gnu::noinline]] void lose(job_type& j, std::uint64_t slot, const place& where) noexcept {
    context c = runs_.context_at(where, j);
    c.enter(static_cast<std::uint32_t>(types::order_end));
    j.lose(runs_.failed(slot, c, std::current_exception()));
    owner_.give_tokens(1);
    owner_.finish_some(j, 1);
  }

  // ---- samples that suspend ----

  static detached run_one(claimed_runs* self, job_type* j, std::uint64_t slot, place where) {
    context c = self->runs_.context_at(where, *j);
    failure f;
    try {
      c.watch();
      c.follow(self->runs_.path.clocks().lane().wants(c.position()));
      task<void> running = Runs::run_async(&self->runs_, j, slot, &c);
      co_await running;
    } catch (...) {
      f = self->runs_.failed(slot, c, std::current_exception());
    }
    if (self->runs_.on.this_slot() == executor::none) co_await self->runs_.on.schedule();
    if (f.cause != nullptr) {
      try {
        task<bool> settled = settling<Runs>::settle(&self->runs_, j, &c, f);
        co_await settled;
      } catch (...) {
        j->lose(f);
      }
      f.cause = nullptr;  // whatever was thrown is gone when the sample has ended
      // Where settling ended early it may have been anywhere.
      if (self->runs_.on.this_slot() == executor::none) co_await self->runs_.on.schedule();
    }
    // Before the sample counts as finished: afterwards the loader may be gone.
    self->owner_.give_tokens(1);
    self->owner_.finish_some(*j, 1);
  }

  Runs& runs_;
  Owner& owner_;
  alignas(64) wick::detail::pace pace_;
  alignas(64) prefetch_choice depths_;
};

}  // namespace wick::detail
