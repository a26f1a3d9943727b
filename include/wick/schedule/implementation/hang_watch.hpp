/// \file
/// The bodies of what schedule/detail/hang_watch.hpp declares. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <wick/run/detail/activity.hpp>
#include <wick/run/timer_queue.hpp>
#include <wick/schedule/detail/hang_watch.hpp>
#include <wick/system/detail/signal_mask.hpp>
#include <wick/system/detail/thread_name.hpp>
#include <wick/system/detail/ticks.hpp>

namespace wick::detail {

// ---- the text ----

namespace hang_text {

constexpr std::size_t most_lines = 10;

inline std::string time(double seconds) {
  char text[32];
  std::snprintf(text, sizeof(text), seconds < 9.95 ? "%.1f s" : "%.0f s", std::max(seconds, 0.0));
  return text;
}

/// Ticks per second, of this moment on this machine.
class ticks_of_now {
 public:
  double seconds_since(std::uint64_t then) const noexcept {
    return now_ > then ? static_cast<double>(now_ - then) * per_tick_ : 0;
  }

 private:
  static double measured() noexcept {
    // Messages are rare, and may take the millisecond that it takes to measure this.
    const std::uint64_t ticks = now_ticks();
    const auto begun = std::chrono::steady_clock::now();
    std::chrono::steady_clock::duration passed{};
    do passed = std::chrono::steady_clock::now() - begun;
    while (passed < std::chrono::milliseconds(1));
    const std::uint64_t counted = now_ticks() - ticks;
    return counted == 0 ? 0 : std::chrono::duration<double>(passed).count() / static_cast<double>(counted);
  }
  double per_tick_ = measured();
  std::uint64_t now_ = now_ticks();
};

inline bool runs(const sample_place& p) noexcept {
  return !p.suspends || (p.what == wait_for::nothing && p.slot != executor::none);
}

/// Whether it waits for what others have, and goes on when they do.
inline bool waits_its_turn(const sample_place& p) noexcept {
  return p.suspends &&
         (p.what == wait_for::io_thread || p.what == wait_for::memory || p.what == wait_for::worker);
}

/// What it does there, without since when.
inline std::string doing(const sample_place& p, const loader_scene& of) {
  if (runs(p))
    return p.slot < of.workers ? "running on worker " + std::to_string(p.slot)
                               : "running on the thread that waits for the batch";
  switch (p.what) {
    case wait_for::io_thread:
      return "waiting for an I/O thread";
    case wait_for::io_call:
      return "in a call on an I/O thread";
    case wait_for::memory:
      return "waiting for memory (" + std::to_string(of.memory_used) + " of " +
             std::to_string(of.memory_limit) + " bytes are taken)";
    case wait_for::time:
      return "sleeping";
    case wait_for::lock:
      return "waiting for a lock (async_mutex, async_semaphore)";
    case wait_for::channel:
      return "waiting for a channel";
    case wait_for::worker:
      return "waiting for a worker";
    case wait_for::nothing:
      break;
  }
  return "waiting for something that is not wick's (a task or thread of the program's own)";
}

inline std::string stage_name(const sample_place& p, const loader_scene& of) {
  return p.stage < of.stages.size() ? '\'' + of.stages[p.stage] + '\'' : "the loader";
}

inline std::string key(const sample_place& p, const loader_scene& of) {
  if (p.whole_batch) return "batch " + std::to_string(p.index);
  try {
    if (of.names.key != nullptr) return of.names.key(of.names.source, p.index);
  } catch (...) {  // its number, then
  }
  return "sample " + std::to_string(p.index);
}

inline std::string line(const sample_place& p, const loader_scene& of, const ticks_of_now& clock) {
  std::string out = "\n  " + key(p, of);
  if (!p.whole_batch) out += " (position " + std::to_string(p.position) + ')';
  out += ": in " + stage_name(p, of) + ", " + doing(p, of) + " for " + time(clock.seconds_since(p.since));
  if (const std::string thread = what_thread_does(p.thread); !thread.empty()) out += "; " + thread;
  return out;
}

/// The first ten, the rest by stage and by what they wait for.
inline std::string lines(const std::vector<sample_place>& all, std::size_t most, const loader_scene& of,
                         const ticks_of_now& clock) {
  std::string out;
  for (std::size_t i = 0; i < all.size() && i < most; ++i) out += line(all[i], of, clock);
  std::vector<std::pair<std::string, std::size_t>> rest;
  for (std::size_t i = most; i < all.size(); ++i) {
    std::string what = "in " + stage_name(all[i], of) + ", " +
                       (runs(all[i]) ? std::string("running on a worker") : doing(all[i], of));
    const auto known = std::find_if(rest.begin(), rest.end(), [&](const auto& r) { return r.first == what; });
    if (known == rest.end())
      rest.emplace_back(std::move(what), 1);
    else
      ++known->second;
  }
  for (const auto& [what, count] : rest) out += "\n  and " + std::to_string(count) + " more " + what;
  return out;
}

/// What each of them does that wasn't told of yet.
inline std::string threads(const char* title, const std::vector<int>& all, const std::string& before) {
  std::string out;
  std::size_t told = 0, more = 0;
  for (const int id : all) {
    if (before.find("(thread " + std::to_string(id) + ')') != std::string::npos) continue;
    const std::string what = told < most_lines / 2 ? what_thread_does(id) : std::string();
    if (what.empty()) {
      ++more;
    } else {
      ++told;
      out += "\n  " + what;
    }
  }
  if (told == 0) return out;
  if (more != 0) out += "\n  and " + std::to_string(more) + " more";
  return title + out;
}

}  // namespace hang_text

void note_threads(executor& on, loader_scene& in) {
  in.workers = on.workers();
  in.stuck_io_threads = on.io().all_in_calls();
  if (on.asleep() != 0) return;
  for (std::size_t i = 0; i < on.workers(); ++i) in.stuck_workers.push_back(on.thread_in(i));
}

std::string text_of(loader_scene scene) {
  using namespace hang_text;
  if (!scene.under_way) return "no batch is in the making";
  const ticks_of_now clock;
  std::vector<sample_place> mine, others;
  for (const sample_place& p : scene.places) (p.sequence == scene.sequence ? mine : others).push_back(p);
  const auto older = [](const sample_place& a, const sample_place& b) {
    if (waits_its_turn(a) != waits_its_turn(b)) return waits_its_turn(b);
    return a.since != b.since ? a.since < b.since : a.position < b.position;
  };
  std::sort(mine.begin(), mine.end(), older);
  std::sort(others.begin(), others.end(), older);

  std::string out = "batch " + std::to_string(scene.number) + " of epoch " + std::to_string(scene.epoch);
  const bool whole = std::any_of(mine.begin(), mine.end(), [](const auto& p) { return p.whole_batch; });
  if (scene.unfinished != 0) {
    out += ": " + std::to_string(scene.unfinished) + " of its " + std::to_string(scene.samples) +
           " samples are unfinished";
    if (scene.unclaimed != 0) out += ", " + std::to_string(scene.unclaimed) + " of these not begun";
  } else if (mine.empty()) {
    out += ": all its samples have ended";
  } else {
    out += whole ? ": all its samples have ended; it is in the stages behind batch()"
                 : ": all its samples have ended; some are made again or in others' place";
  }
  out += lines(mine, most_lines, scene, clock);
  // What keeps it from going on may be of another batch.
  const auto any = [&](wait_for what) {
    return std::any_of(mine.begin(), mine.end(),
                       [=](const sample_place& p) { return p.suspends && p.what == what; });
  };
  const bool no_worker = scene.unclaimed != 0 || mine.empty() || any(wait_for::worker);
  if ((no_worker || any(wait_for::io_thread) || any(wait_for::memory)) && !others.empty()) {
    out += "\nwhat is under way of later batches:";
    out += lines(others, most_lines / 2, scene, clock);
  }
  if (no_worker) out += threads("\nno worker is free:", scene.stuck_workers, out);
  if (any(wait_for::io_thread)) out += threads("\nno I/O thread is free:", scene.stuck_io_threads, out);
  return out;
}

// ---- the watch ----

/// Lives as long as the timer lies in the queue, which may be longer than the loader.
struct hang_watch::state : timer {
  std::mutex mutex;             // of all that follows, and of `watch` being there
  hang_watch* watch = nullptr;  // null when the loader is gone
  std::shared_ptr<state> self;  // while it lies in the queue
  std::int64_t told = 0;        // the wait that was told last
  std::thread writer;
  std::atomic<bool> writes{false};
};

hang_watch::hang_watch(executor& on, std::chrono::nanoseconds after, hang_handler tell, look how, void* at)
    : on_(on),
      after_(std::min<std::chrono::nanoseconds>(after, std::chrono::hours(24 * 365))),
      tell_(std::move(tell)),
      look_(how),
      at_(at) {
  if (after_.count() <= 0) return;
  state_ = std::make_shared<state>();
  state_->watch = this;
  state_->watches = true;
  state_->expired = [](timer* t, bool on_time) noexcept {
    state* const s = static_cast<state*>(t);
    std::shared_ptr<state> mine;  // gone after the lock
    const std::lock_guard lock(s->mutex);
    mine = std::move(s->self);
    if (!on_time || s->watch == nullptr) return;
    s->due = s->watch->come_round(clock::now());
    s->place = timer::unseen;
    try {
      s->self = mine;
      if (!s->watch->on_.timers().add(*s)) s->self.reset();
    } catch (...) {  // nobody watches, then
      s->self.reset();
    }
  };
}

hang_watch::~hang_watch() {
  if (state_ == nullptr) return;
  if (on_.forked()) {  // whoever was in there when the process was forked has kept the lock
    static_cast<void>(new std::shared_ptr<state>(std::move(state_)));
    return;
  }
  {
    const std::lock_guard lock(state_->mutex);
    state_->watch = nullptr;
    if (on_.timers().cancel(*state_)) state_->self.reset();
  }
  if (state_->writer.joinable()) state_->writer.join();
}

void hang_watch::begin() noexcept {
  if (state_ == nullptr) return;
  since_.store(clock::now().time_since_epoch().count(), std::memory_order_relaxed);
  if (!started_) start();
}

void hang_watch::start() noexcept {
  started_ = true;
  const std::lock_guard lock(state_->mutex);
  state_->due = clock::now() + after_;
  try {
    state_->self = state_;
    if (!on_.timers().add(*state_)) state_->self.reset();
  } catch (...) {  // no thread to be had: nobody watches, then
    state_->self.reset();
  }
}

hang_watch::clock::time_point hang_watch::come_round(clock::time_point now) noexcept {
  state& s = *state_;
  const std::int64_t since = since_.load(std::memory_order_relaxed);
  if (since == 0 || since == s.told) return now + after_;
  const clock::time_point limit = clock::time_point(clock::duration(since)) + after_;
  if (now < limit) return limit;
  if (s.writes.load(std::memory_order_acquire)) return now + after_;  // the message before this one
  s.told = since;
  try {
    if (s.writer.joinable()) s.writer.join();
    s.writes.store(true, std::memory_order_relaxed);
    const signals_blocked quiet;
    s.writer = std::thread([this, since, of = &s] {
      name_this_thread("wick-hang", 0);
      tell(since);
      of->writes.store(false, std::memory_order_release);
    });
  } catch (...) {  // no thread to be had
    s.writes.store(false, std::memory_order_relaxed);
  }
  return now + after_;
}

std::string hang_watch::where() {
  // Whoever had a lock there when the process was forked has kept it.
  if (on_.forked()) return "nothing is under way in a forked child";
  const std::lock_guard lock(looking_);
  return text_of(look_(at_));
}

void hang_watch::tell(std::int64_t since) noexcept {
  try {
    const std::string found = where();
    // What was seen may be of after the wait.
    if (since_.load(std::memory_order_relaxed) != since) return;
    const clock::duration waited = clock::now() - clock::time_point(clock::duration(since));
    const std::string text = "wick: the training loop has waited " +
                             hang_text::time(std::chrono::duration<double>(waited).count()) +
                             " for a batch; it goes on waiting. " + found + '\n';
    if (tell_)
      tell_(text);
    else
      std::fputs(text.c_str(), stderr);
  } catch (...) {  // it was only a message
  }
}

}  // namespace wick::detail
