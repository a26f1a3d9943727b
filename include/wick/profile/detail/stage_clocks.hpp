// The loader's clocks: one for each stage on each worker, and one for each worker's runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <wick/async/detail/activity.hpp>
#include <wick/async/executor.hpp>
#include <wick/base/detail/clock.hpp>
#include <wick/base/detail/owned.hpp>
#include <wick/base/detail/processor_time.hpp>
#include <wick/base/detail/ticks.hpp>
#include <wick/pipeline/detail/trace_lane.hpp>
#include <wick/profile/detail/durations.hpp>
#include <wick/profile/detail/run_mark.hpp>
#include <wick/profile/detail/stage_clock.hpp>

namespace wick::inline v0_1::detail {

/// The clocks of stages that don't suspend are read for some samples only, and the time of the others is
/// inferred. The times of whole runs are all measured, and the inferred times must not exceed them. Where a
/// stage suspends, the clocks are read for all samples, except for short ones whose reads are made together.
class stage_clocks {
 public:
  /// Rows up to `batching` and from `stages` on are of samples, those between are of batches. `suspend`:
  /// samples may suspend, so their clocks are always read.
  stage_clocks(executor& on, std::size_t rows, std::size_t batching, std::size_t stages, bool suspend);
  stage_clocks(const stage_clocks&) = delete;
  stage_clocks& operator=(const stage_clocks&) = delete;
  ~stage_clocks();

  /// The sample that a thread has begun last, as a coroutine, in its current run; null without one.
  struct begun_sample {
    const void* batch = nullptr;
    std::uint64_t slot = 0;
    std::uint64_t* ended = nullptr;  // counts the samples of the run that have ended so
  };
  /// Of one worker, or of one helper.
  struct worker {
    stage_clock* clocks = nullptr;
    stage_record* records = nullptr;
    const tick_scale* scale = nullptr;
    trace_lane* lane = nullptr;
    std::uint64_t next_timed = 0;  // the count of samples at which a run of short ones is timed again
    std::uint64_t next_probe = 0;  // ticks
    thread_usage last;             // at the end of the last probe, at `last_at`
    std::uint64_t last_at = 0;
    std::uint64_t long_ticks = ~std::uint64_t{0};  // anything longer is probed
    std::uint64_t least_cost = 0;                  // of one reading
    std::uint64_t depths = 0;                      // runs that asked prefetch_choice
    begun_sample begins;
    std::uint64_t groups = 0;     // of samples that were read together
    unsigned without_groups = 0;  // runs that don't try to read their samples together
    bool many_suspend = false;    // more than a quarter of the samples of the last run suspended
    run_mark mark;

    /// Schedules the next probe after 1,000 times the cost of this one: probes cost a tenth of a percent.
    /// Time in which another thread was scheduled in between isn't counted as cost.
    void has_probed(const thread_usage& usage, std::uint64_t at, std::uint64_t cost,
                    std::uint64_t readings) noexcept {
      const std::uint64_t each = cost / readings != 0 ? cost / readings : 1;  // a slow counter shows 0
      least_cost = each < least_cost ? each : least_cost;
      const std::uint64_t without_turns = each < 4 * least_cost ? each : 4 * least_cost;
      last = usage;
      last_at = at;
      next_probe = at + 1000 * without_turns * readings;
      long_ticks = 1000 * without_turns;
    }
  };
  /// The calling thread's. Valid until the coroutine suspends.
  [[gnu::noinline]] worker& mine() noexcept { return workers_[on_.this_slot()]; }

  bool has_this_thread() const noexcept { return on_.this_slot() != executor::none; }
  /// The clock for whole runs of samples.
  stage_clock& runs_of(worker& w) const noexcept { return w.clocks[rows_]; }

  /// A stage's work before its first wait; `of_others` of the ticks belong to other stages. The ticks of
  /// waited() below count from the stage's beginning.
  void worked_before_suspending(std::uint32_t stage, std::uint64_t ticks, std::uint64_t of_others) noexcept {
    worker& w = mine();
    w.clocks[stage].ran(1);
    w.clocks[stage].worked(1, ticks - (of_others < ticks ? of_others : ticks));
    w.records[stage].waited(std::uint64_t{0} - ticks);
  }
  /// A stage continues after a wait, `ticks` after its beginning; it ran for `ran` of them since its first
  /// wait.
  void waited(std::uint32_t stage, std::uint64_t ticks, std::uint64_t ran, std::uint64_t index) noexcept {
    worker& w = mine();
    w.records[stage].waited(ticks - ran);
    if (ran != 0) w.clocks[stage].worked(0, ran);
    w.records[stage].took(ticks, index);
  }
  void waited_for(std::uint32_t stage, const activity::times& ticks) noexcept {
    mine().records[stage].waited_for(ticks);
  }
  /// The calling thread's lane for trace spans.
  trace_lane& lane() noexcept { return *mine().lane; }
  /// One lane for each slot.
  trace_lane* lanes() const noexcept { return lanes_.get(); }
  const run_mark& mark(std::size_t slot) const noexcept { return workers_[slot].mark; }
  /// A traced sample has finished waiting: writes the span of the wait, and of its calls on I/O threads.
  void awaited(trace_span s, const activity* doing, const activity::times& spent) noexcept;

  void reserved(std::uint32_t stage, std::uint64_t bytes) noexcept { mine().records[stage].reserved(bytes); }
  /// A sample ran in a stage without suspending.
  void worked(std::uint32_t stage, std::uint64_t ticks, std::uint64_t index) noexcept {
    worker& w = mine();
    w.clocks[stage].ran(1);
    w.clocks[stage].worked(1, ticks);
    w.records[stage].took(ticks, index);
  }

  struct sum {
    std::uint64_t count = 0, timed = 0, timed_ticks = 0, waited = 0;
    probes probed, long_ones;
    std::uint64_t bytes = 0;
    activity::times waits{};
    durations times, turns, sizes;  // turns: corrections for the time that other threads had the processor

    void add(const stage_clock& c, const stage_record* r);
    /// The change since an earlier sum.
    sum since(const sum& before) const;
  };
  /// Of each row; the last is that of the runs.
  std::vector<sum> totals() const;
  /// The slowest sample since the previous call, and, of the slow samples, the one with the most processor
  /// time; 0: none.
  struct slow_sample {
    std::uint64_t ticks = 0, index = 0;
    std::uint64_t nanoseconds = 0, costliest_index = 0;
  };
  slow_sample take_slowest(std::size_t row) const noexcept;

  /// All work so far, on workers and on helping threads.
  struct usage {
    std::uint64_t workers = 0, helpers = 0;
  };
  usage ticks() const noexcept;
  /// Of one slot; those below on.workers() are workers.
  std::uint64_t ticks_of(std::size_t slot) const noexcept;
  std::size_t rows() const noexcept { return rows_; }
  bool of_samples(std::size_t row) const noexcept { return row <= batching_ || row >= batch_end_; }
  bool clocks_always_read() const noexcept { return suspend_; }

 private:
  executor& on_;
  const std::size_t rows_, batching_, batch_end_;  // rows_: without the row of the runs
  const bool suspend_;
  const std::size_t slots_;
  const tick_scale scale_;
  std::vector<stage_clock> clocks_;
  std::vector<stage_record> records_;
  const owned<trace_lane[]> lanes_;
  struct alignas(64) place : worker {};
  const owned<place[]> workers_;
};

/// One thread's clock readings while it takes samples from stage to stage. Each sample begins where the
/// previous one ended.
class stopwatch {
 public:
  /// `weight`: how many samples each timed one stands for. `may_probe`: samples are long enough to read
  /// processor time in between.
  stopwatch(stage_clocks::worker& w, bool may_probe, std::uint64_t weight = 1) noexcept
      : worker_(w), weight_(weight), may_probe_(may_probe), last_(now_ticks()) {}
  stopwatch(const stopwatch&) = delete;
  stopwatch& operator=(const stopwatch&) = delete;
  ~stopwatch() { end_probe(); }

  /// Adds the time since the last mark to `row`. `of` is the sample's wick::context.
  template <class Context>
  void begin(const Context& of, std::size_t row) noexcept {
    index_ = of.index();
    followed_ = of.followed();
    if (followed_) {
      span_.position = of.position();
      span_.epoch = of.epoch();
    }
    const std::uint64_t now = now_ticks();
    worker_.clocks[row].worked(0, weight_ * (now - last_));
    last_ = now;
    end_probe();
    if (may_probe_ && now >= worker_.next_probe) begin_probe();
  }
  /// Adds the time since the last mark to `row`.
  void mark(std::size_t row) noexcept {
    const std::uint64_t now = now_ticks(), ticks = now - last_;
    note(row, ticks);
    last_ = now;
    ended(row, ticks, {row, ticks});
  }
  /// Whether a trace follows the sample at a position.
  bool follows(std::uint64_t position) noexcept { return worker_.lane->wants(position); }
  /// The same with `inside` as parts of the time, which have rows of their own from `parts` on.
  template <class Ticks>
  void mark(std::size_t row, const Ticks& inside, std::size_t parts) noexcept {
    const std::uint64_t now = now_ticks();
    std::uint64_t rest = now - last_;
    const std::uint64_t ticks = rest;
    part longest{row, 0};
    for (std::size_t p = 0; p < inside.size(); ++p) {
      if (inside[p] == 0) continue;
      note(parts + p, inside[p]);
      if (followed_) span_.parts[p] = inside[p];
      rest -= inside[p] < rest ? inside[p] : rest;
      if (2 * inside[p] > ticks) longest = {parts + p, inside[p]};
    }
    note(row, rest);
    last_ = now;
    if (longest.row == row) longest.ticks = rest;
    ended(row, ticks, longest);
  }

 private:
  void note(std::size_t row, std::uint64_t ticks) noexcept {
    worker_.clocks[row].worked(0, weight_ * ticks);
    worker_.records[row].took(ticks, index_);
  }
  /// A row, or a part of one with its own row.
  struct part {
    std::size_t row;
    std::uint64_t ticks;
  };
  /// `row` ended at last_; `longest` is its longest part.
  void ended(std::size_t row, std::uint64_t ticks, const part& longest) noexcept {
    if (followed_) write(row, ticks);
    if (probes_) return end_of(row, ticks, longest);
    if (ticks > worker_.long_ticks && may_probe_) took_long(row, ticks, longest);
  }
  void write(std::size_t row, std::uint64_t ticks) noexcept;
  void took_long(std::size_t row, std::uint64_t ticks, const part& longest) noexcept;
  void begin_probe() noexcept;
  void end_of(std::size_t row, std::uint64_t ticks, const part& longest) noexcept;
  void took_long(std::size_t row, const probe& p, const part& longest) noexcept {
    worker_.records[row].took_long(p);
    worker_.records[longest.row].cost(p.nanoseconds, index_);
  }
  void without_turns(const probe& p, const part& longest) noexcept;
  void end_probe() noexcept {
    if (std::exchange(probes_, false)) worker_.has_probed(usage_, last_, cost_, readings_);
  }

  stage_clocks::worker& worker_;
  const std::uint64_t weight_;
  const bool may_probe_;
  bool probes_ = false, followed_ = false;
  std::uint64_t last_, index_ = 0;
  trace_span span_;
  std::uint64_t cost_ = 0, readings_ = 0;
  thread_usage usage_;
};

/// The processor time of one run of short samples, now and then.
class run_probe {
 public:
  run_probe(stage_clocks::worker& w, std::uint64_t now) noexcept : worker_(w), due_(now >= w.next_probe) {
    if (due_) begin();
  }
  /// Ends the run, which began at `begun`.
  void end(stage_clock& runs, std::uint64_t begun) noexcept {
    if (due_) finish(runs, now_ticks() - begun);
  }

 private:
  void begin() noexcept;
  void finish(stage_clock& runs, std::uint64_t ticks) noexcept;
  stage_clocks::worker& worker_;
  const bool due_;
  std::uint64_t cost_ = 0;
  thread_usage usage_;
};

}  // namespace wick::detail
