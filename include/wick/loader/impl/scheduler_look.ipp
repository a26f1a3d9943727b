// Finds a loader's samples when no batch comes. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <atomic>
#include <string>

#include <wick/async/detail/activity.hpp>
#include <wick/loader/detail/scheduler.hpp>
#include <wick/profile/detail/run_mark.hpp>

namespace wick::inline v0_1::detail {

void scheduler::look(std::uint64_t sequence, hang_scene& out) {
  const std::uint64_t end = ahead_.opened();
  if (sequence >= end) return;
  const batch_job& oldest = ahead_.at(sequence);
  out.opened = true;
  out.epoch = oldest.epoch;
  out.number = oldest.number;
  out.samples = oldest.count;
  out.unfinished = oldest.unfinished.load(std::memory_order_acquire);
  for (std::size_t slot = 0; slot < on_.slots(); ++slot)
    out.unfinished -= std::min(out.unfinished, run_.clocks.mark(slot).ended_of(sequence));
  out.unclaimed = std::min(oldest.unclaimed(), out.unfinished);
  if (!may_claim()) out.in_flight = tokens_.limit();
  out.used = run_.settings.budget.used();
  out.limit = run_.settings.budget.limit();

  const auto add = [&](batch_job& j, hang_scene::place p) {
    p.oldest = j.sequence == sequence;
    p.stage_name = run_.settings.stage_name(p.stage) + run_.pipeline.stage_written(p.stage);
    if (p.samples == 0) {
      p.name = "batch " + std::to_string(j.number);
    } else if (p.samples == 1) {
      const std::lock_guard lock(j.mutex);  // guards its failures: a substitute may have this place
      const failure f = run_.failure_at(j, p.first - j.first);
      p.first = f.position;
      p.index = f.index;
    } else {
      p.name =
          "one of positions " + std::to_string(p.first) + " to " + std::to_string(p.first + p.samples - 1);
    }
    out.places.push_back(std::move(p));
  };
  for (std::uint64_t s = sequence; s < end; ++s) {
    batch_job& j = ahead_.at(s);
    if (!j.under_way) continue;
    j.under_way->each([&](std::size_t slot, const activity& a) {
      hang_scene::place p;
      p.first = j.first + slot;
      p.samples = p.counted = slot < j.count ? 1 : 0;
      p.stage = a.stage.load(std::memory_order_relaxed);
      p.since = a.since();
      p.what = a.what();
      p.io_thread = a.io_thread.load(std::memory_order_relaxed);
      if (p.what == wait_for::nothing) {
        p.on = on_.worker_at(&a);
        for (std::size_t i = on_.workers(); i < on_.slots(); ++i) {  // the consumer, which stays
          const resumption* const r = run_.clocks.mark(i).thread.load(std::memory_order_relaxed);
          if (r != nullptr && r->of.load(std::memory_order_relaxed) == &a) p.on = i;
        }
      }
      add(j, p);
    });
  }
  for (std::size_t slot = 0; slot < on_.slots(); ++slot) {
    hang_scene::place p;
    std::uint64_t s = 0;
    if (!run_.clocks.mark(slot).read(p, s) || s < sequence || s >= end) continue;
    p.on = slot;
    add(ahead_.at(s), p);
  }
  out.sort();
  // The source makes the keys, which may take long: not before the samples are free to end.
  for (std::size_t i = 0; i < std::min(out.places.size(), hang_scene::most_places); ++i) {
    hang_scene::place& p = out.places[i];
    if (p.samples == 1)
      p.name = run_.settings.printable_key(p.index) + " (position " + std::to_string(p.first) + ')';
  }
}

}  // namespace wick::detail
