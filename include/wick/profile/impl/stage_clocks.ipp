// Implements profile/detail/stage_clocks.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>

#include <wick/profile/detail/stage_clocks.hpp>

namespace wick::inline v0_1::detail {

/// The cost of reading the usage.
struct reading_cost {
  std::uint64_t nanoseconds = ~std::uint64_t{0}, ticks = ~std::uint64_t{0};
};
const reading_cost& cost_of_reading() noexcept {
  static const reading_cost cost = [] {
    reading_cost least;
    for (int i = 0; i < 8; ++i) {
      const thread_usage before = usage_of_this_thread();
      const std::uint64_t begun = now_ticks();
      const thread_usage after = usage_of_this_thread();
      least.ticks = std::min(least.ticks, now_ticks() - begun);
      least.nanoseconds = std::min(least.nanoseconds, after.nanoseconds - before.nanoseconds);
    }
    return least;
  }();
  return cost;
}

stage_clocks::stage_clocks(executor& on, std::size_t rows, std::size_t batching, std::size_t stages,
                           bool suspend)
    : on_(on),
      rows_(rows),
      batching_(batching),
      batch_end_(stages),
      suspend_(suspend),
      slots_(on.slots()),
      clocks_(slots_ * (rows + 1)),
      records_(slots_ * rows),
      lanes_(slots_),
      workers_(slots_) {
  for (std::size_t slot = 0; slot < slots_; ++slot) {
    worker& w = workers_[slot];
    w.clocks = &clocks_[slot * (rows + 1)];
    w.records = &records_[slot * rows];
    w.scale = &scale_;
    w.lane = &lanes_[slot];
    w.least_cost = std::max<std::uint64_t>(cost_of_reading().ticks, 1);
  }
  on.tenants().enter(
      this, [](const void* self) { return static_cast<const stage_clocks*>(self)->ticks().workers; });
}

stage_clocks::~stage_clocks() {
  if (!on_.forked()) on_.tenants().leave(this);
}

void stage_clocks::sum::add(const stage_clock& c, const stage_record* r) {
  count += c.count();
  timed += c.timed();
  timed_ticks += c.timed_ticks();
  probed.add(c.probed());
  if (r == nullptr) return;
  long_ones.add(r->long_ones());
  waited += r->waited();
  bytes += r->bytes();
  times.add(r->times());
  turns.add(r->turns());
  sizes.add(r->sizes());
  for (std::size_t i = 1; i < wait_kinds; ++i) waits[i] += r->waited(static_cast<wait_for>(i));
}

stage_clocks::sum stage_clocks::sum::since(const sum& before) const {
  sum out = *this;
  out.count -= before.count;
  out.timed -= before.timed;
  out.timed_ticks -= before.timed_ticks;
  out.waited -= before.waited;
  out.probed.subtract(before.probed);
  out.long_ones.subtract(before.long_ones);
  out.bytes -= before.bytes;
  for (std::size_t i = 1; i < wait_kinds; ++i) out.waits[i] -= before.waits[i];
  out.times = times.since(before.times);
  out.turns = turns.since(before.turns);
  out.sizes = sizes.since(before.sizes);
  return out;
}

std::vector<stage_clocks::sum> stage_clocks::totals() const {
  std::vector<sum> out(rows_ + 1);
  for (std::size_t slot = 0; slot < slots_; ++slot) {
    const worker& w = workers_[slot];
    for (std::size_t i = 0; i <= rows_; ++i) out[i].add(w.clocks[i], i < rows_ ? &w.records[i] : nullptr);
  }
  return out;
}

stage_clocks::slow_sample stage_clocks::take_slowest(std::size_t row) const noexcept {
  slow_sample out;
  for (std::size_t slot = 0; slot < slots_; ++slot) {
    stage_record& r = workers_[slot].records[row];
    if (r.slowest() > out.ticks) out.ticks = r.slowest(), out.index = r.slowest_index();
    if (r.costliest() > out.nanoseconds) {
      out.nanoseconds = r.costliest();
      out.costliest_index = r.costliest_index();
    }
    r.forget_slowest();
  }
  return out;
}

std::uint64_t stage_clocks::ticks_of(std::size_t slot) const noexcept {
  const stage_clock* const row = workers_[slot].clocks;
  std::uint64_t samples = row[rows_].timed_ticks(), timed = 0, batches = 0;
  for (std::size_t i = 0; i < rows_; ++i) (of_samples(i) ? timed : batches) += row[i].timed_ticks();
  // A sample's work after a suspension belongs to no run.
  if (suspend_) samples = std::max(samples, timed);
  return samples + batches;
}

stage_clocks::usage stage_clocks::ticks() const noexcept {
  usage out;
  for (std::size_t slot = 0; slot < slots_; ++slot)
    (slot < on_.workers() ? out.workers : out.helpers) += ticks_of(slot);
  return out;
}

/// A thread's usage between two readings, `ticks` apart.
probe between(const thread_usage& before, const thread_usage& after, std::uint64_t ticks) noexcept {
  const std::uint64_t passed = after.nanoseconds - before.nanoseconds;
  return {ticks, passed - std::min(passed, cost_of_reading().nanoseconds), after.waits != before.waits};
}

void stage_clocks::awaited(trace_span s, const activity* doing, const activity::times& spent) noexcept {
  const auto longest = std::max_element(spent.begin() + 1, spent.end());
  if (*longest != 0) s.cause = static_cast<std::uint8_t>(longest - spent.begin());
  lane().write(s);
  if (doing == nullptr) return;
  const std::size_t calls = doing->calls();
  for (std::size_t i = calls - std::min(calls, activity::calls_kept); i < calls; ++i) {
    const activity::call c = doing->call_at(i);
    s.kind = span_kind::call;
    s.begun = c.begun;
    s.ended = c.ended;
    s.thread = c.thread;
    lane().write(s);
  }
}

void stopwatch::write(std::size_t row, std::uint64_t ticks) noexcept {
  span_.begun = last_ - ticks;
  span_.ended = last_;
  span_.index = index_;
  span_.row = static_cast<std::uint16_t>(row);
  worker_.lane->write(span_);
  span_.parts = {};
}

void stopwatch::begin_probe() noexcept {
  probes_ = true;
  usage_ = usage_of_this_thread();
  const std::uint64_t now = now_ticks();
  cost_ = now - last_;
  readings_ = 1;
  last_ = now;
}

void stopwatch::end_of(std::size_t row, std::uint64_t ticks, const part& longest) noexcept {
  const thread_usage now = usage_of_this_thread();
  if (now.nanoseconds == 0) return;  // the system doesn't say
  const probe p = between(usage_, now, ticks);
  if (ticks > worker_.long_ticks) {
    took_long(row, p, longest);
    without_turns(p, longest);
  } else {
    worker_.clocks[row].probed(p);
  }
  usage_ = now;
  const std::uint64_t then = now_ticks();
  cost_ += then - last_;
  ++readings_;
  last_ = then;
}

/// Its beginning wasn't probed, since nothing suggested that it would take long: the time from the last probe
/// to there counts as work.
void stopwatch::took_long(std::size_t row, std::uint64_t ticks, const part& longest) noexcept {
  const std::uint64_t begun = last_ - ticks, before = begun - std::min(begun, worker_.last_at);
  const thread_usage now = usage_of_this_thread();
  // A helper's slot may have belonged to another thread.
  if (before < ticks && worker_.last.nanoseconds != 0 && now.nanoseconds >= worker_.last.nanoseconds) {
    probe p = between(worker_.last, now, ticks);
    const double nanoseconds = 1e9 * worker_.scale->seconds_per_tick();
    const double least = static_cast<double>(p.nanoseconds) - nanoseconds * static_cast<double>(before);
    p.nanoseconds =
        static_cast<std::uint64_t>(std::clamp(least, 0.0, nanoseconds * static_cast<double>(ticks)));
    took_long(row, p, longest);
    without_turns(p, longest);
  }
  worker_.last = now;
  worker_.last_at = now_ticks();
}

void stopwatch::without_turns(const probe& p, const part& longest) noexcept {
  const double all = 1e9 * worker_.scale->seconds_per_tick() * static_cast<double>(p.ticks);
  if (p.blocked || all <= 0) return;
  const double share = std::min(1.0, static_cast<double>(p.nanoseconds) / all);
  worker_.records[longest.row].had(longest.ticks,
                                   static_cast<std::uint64_t>(share * static_cast<double>(longest.ticks)));
}

void run_probe::begin() noexcept {
  const std::uint64_t begun = now_ticks();
  usage_ = usage_of_this_thread();
  cost_ = now_ticks() - begun;
}

void run_probe::finish(stage_clock& runs, std::uint64_t ticks) noexcept {
  const thread_usage now = usage_of_this_thread();
  if (now.nanoseconds != 0) runs.probed(between(usage_, now, ticks));
  worker_.has_probed(now, now_ticks(), 2 * cost_, 2);
}

}  // namespace wick::detail
