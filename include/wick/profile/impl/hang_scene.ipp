// Implements profile/detail/hang_scene.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cstdio>
#include <tuple>

#include <wick/base/detail/thread_name.hpp>
#include <wick/profile/detail/hang_scene.hpp>

namespace wick::inline v0_1::detail {

namespace {

std::string spelled(std::uint64_t n) { return std::to_string(n); }
std::string spelled_seconds(double seconds) {
  char text[32];
  std::snprintf(text, sizeof(text), seconds < 9.95 ? "%.1f s" : "%.0f s", seconds);
  return text;
}

std::string running(executor& on, std::size_t slot) {
  if (slot >= on.workers()) return "running on the thread that waits for the batch";
  const int id = on.thread_of(slot);
  const std::string out = "running on worker " + spelled(slot) + " (thread " + std::to_string(id);
  switch (thread_state(id)) {
    case 'R':
      return out + ", which computes)";
    case 'S':
      return out + ", which waits in the system: for a lock, a call or a time)";
    case 'D':
      return out + ", which waits for a disk or another device)";
    default:
      return out + ')';
  }
}

}  // namespace

void hang_scene::sort() {
  const auto order = [](const place& p) {
    return std::tuple(!p.oldest, p.waits_its_turn(), p.since, p.first);
  };
  std::sort(places.begin(), places.end(),
            [&](const place& a, const place& b) { return order(a) < order(b); });
}

std::string hang_scene::text(executor& on, const tick_scale& scale, double waited) const {
  std::string out =
      "wick: the loop has waited " + spelled_seconds(waited) + " for a batch, and keeps waiting; ";
  if (!opened) return out + "no batch has been begun\n";
  out += "batch " + spelled(number) + " of epoch " + spelled(epoch) + ": ";
  if (unfinished != 0)
    out += spelled(unfinished) + " of its " + spelled(samples) + " samples are unfinished";
  else
    out += "all its samples have ended, and it is being completed";

  std::uint64_t known = unclaimed;
  std::size_t lines = 0;
  bool in_turn = unclaimed != 0 || places.empty() || !places[0].oldest, later = false;
  for (const place& p : places) {
    if (p.oldest) {
      known += p.counted;
      in_turn = in_turn || p.waits_its_turn();
    } else if (!in_turn || p.waits_its_turn()) {  // these don't hold the batch up
      break;
    } else if (!later) {
      later = true;
      out += "\n  of later batches:";
    }
    if (lines++ < most_places) out += line(p, on, scale);
  }
  if (lines > most_places) out += "\n  and " + spelled(lines - most_places) + " more";
  if (unfinished > known)
    out += "\n  " + spelled(unfinished - known) + " wait for a retry, or are on their way";
  if (unclaimed != 0) out += "\n  " + spelled(unclaimed) + " are not begun" + why_not_begun(on);
  return out + '\n';
}

std::string hang_scene::line(const place& p, executor& on, const tick_scale& scale) const {
  const std::uint64_t now = now_ticks();
  const double seconds = now > p.since ? static_cast<double>(now - p.since) * scale.seconds_per_tick() : 0;
  std::string out = "\n  " + p.name + ": ";
  if (p.stage == in_no_stage)
    out += "in the source or a stage";
  else
    out += p.stage == in_source ? "in the source" : "in '" + p.stage_name + '\'';
  return out + ", " + doing(p, on) + " for " + spelled_seconds(seconds);
}

std::string hang_scene::doing(const place& p, executor& on) const {
  if (p.on != executor::none) return running(on, p.on);
  switch (p.what) {
    case wait_for::io_thread:
      return "waiting for one of " + spelled(on.io().threads()) + " I/O threads";
    case wait_for::io_call:
      return "in a call on I/O thread wick-io-" + spelled(p.io_thread);
    case wait_for::server:
      return "waiting for the answer of a server";
    case wait_for::sample:
      return "waiting for what another sample reads";
    case wait_for::memory:
      return "waiting for memory (" + spelled(used) + " of " + spelled(limit) + " bytes are taken)";
    case wait_for::time:
      return "sleeping";
    case wait_for::lock:
      return "waiting for an async_semaphore";
    case wait_for::worker:
      return "waiting for a worker";
    case wait_for::nothing:
      break;
  }
  return "in a co_await of the program's own";
}

std::string hang_scene::why_not_begun(executor& on) const {
  if (in_flight != 0)
    return ": all " + spelled(in_flight) +
           " samples that may be under way at a time are (loader_options::in_flight)";
  if (on.asleep() != 0) return {};
  const auto own =
      std::count_if(places.begin(), places.end(), [&](const place& p) { return p.on < on.workers(); });
  return ": no worker is free; of " + spelled(on.workers()) + ", " +
         spelled(static_cast<std::uint64_t>(own)) + " run this loader's samples";
}

}  // namespace wick::detail
