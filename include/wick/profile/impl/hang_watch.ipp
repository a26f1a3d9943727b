// Implements profile/detail/hang_watch.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <utility>

#include <wick/async/detail/timer_queue.hpp>
#include <wick/base/detail/condition.hpp>
#include <wick/base/detail/signal_mask.hpp>
#include <wick/base/detail/thread_name.hpp>
#include <wick/profile/detail/hang_watch.hpp>

namespace wick::inline v0_1::detail {

struct hang_watch::state : timer {
  hang_watch* of = nullptr;
  std::mutex mutex;  // guards the members below
  condition changed;
  bool queued = false, stopping = false;
  bool telling = false;              // the thread is running
  std::uint64_t last = 0;            // the wait of the last message
  std::uint64_t of_wait = 0;         // the wait that `ran` belongs to
  std::chrono::nanoseconds ran{};    // how long the wait lasted while the process ran
  std::chrono::nanoseconds asked{};  // the time from the last look to the next
  timer::clock::time_point looked{};
  std::thread teller;
};

namespace {

/// The interval between looks: short enough to notice that the process was stopped.
std::chrono::nanoseconds time_between_looks(std::chrono::nanoseconds after) noexcept {
  return std::max<std::chrono::nanoseconds>(after / 8, std::chrono::milliseconds(1));
}

}  // namespace

hang_watch::hang_watch(executor& on, hang_view of, std::chrono::nanoseconds after, hang_handler tell)
    : on_(on),
      view_(of),
      after_(std::clamp<std::chrono::nanoseconds>(after, std::chrono::milliseconds(1),
                                                  std::chrono::hours(24 * 365))),
      handler_(std::move(tell)) {
  if (after.count() <= 0) return;
  state_ = make_owned<state>();
  starts_ = true;
  state_->of = this;
  state_->watches = true;
  state_->expired = [](timer* t, bool on_time) noexcept { static_cast<state*>(t)->of->come_round(on_time); };
}

hang_watch::~hang_watch() {
  if (!state_) return;
  if (on_.forked()) {  // neither thread exists here, and either may have held the mutex
    static_cast<void>(state_.release());
    return;
  }
  {
    std::unique_lock lock(state_->mutex);
    state_->stopping = true;
    if (state_->queued && on_.timers().cancel(*state_)) state_->queued = false;
    state_->changed.wait(lock, [&] { return !state_->queued; });
  }
  rest();
}

void hang_watch::rest() noexcept {
  if (!state_ || on_.forked()) return;
  std::thread teller;
  {
    const std::lock_guard lock(state_->mutex);
    teller.swap(state_->teller);
  }
  if (teller.joinable()) teller.join();
}

void hang_watch::start() noexcept {
  starts_ = false;
  if (on_.forked()) return;
  const std::lock_guard lock(state_->mutex);
  state_->looked = timer::clock::now();
  set_timer(time_between_looks(after_));
}

void hang_watch::set_timer(std::chrono::nanoseconds in) noexcept {
  state_->asked = in;
  state_->due = timer::clock::now() + in;
  state_->place = timer::unseen;
  try {
    state_->queued = on_.timers().add(*state_);
  } catch (...) {  // no thread, so no watch
  }
}

/// On the timer thread.
void hang_watch::come_round(bool on_time) noexcept {
  state& s = *state_;
  const std::lock_guard lock(s.mutex);
  s.queued = false;
  if (!on_time || s.stopping) return s.changed.notify_all();
  const std::uint64_t since = since_.load(std::memory_order_acquire);
  // A look that comes much too late means that the process was stopped; that isn't the loader's fault.
  const timer::clock::time_point now = timer::clock::now();
  std::chrono::nanoseconds elapsed = now - std::exchange(s.looked, now);
  if (elapsed > s.asked + std::chrono::seconds(1)) elapsed = s.asked;
  if (since == std::exchange(s.of_wait, since)) {
    s.ran += elapsed;
  } else {
    const auto so_far = std::chrono::nanoseconds(static_cast<std::int64_t>(1e9 * waited(since)));
    s.ran = std::min(so_far, elapsed);
  }
  std::chrono::nanoseconds next = time_between_looks(after_);
  if (since != 0 && since != s.last && !s.telling) {
    if (s.ran < after_) {
      next = std::min(after_ - s.ran, time_between_looks(after_));
    } else {
      try {
        if (s.teller.joinable()) s.teller.join();  // it has ended
        const signals_blocked quiet;
        s.teller = std::thread([this, since, of = &s] {
          name_this_thread("wick-hang", 0);
          const bool waits = tell(since);
          const std::lock_guard ended(of->mutex);
          of->telling = false;
          if (!waits) of->last = 0;  // the waiting thread ran samples, and may wait again
        });
        s.last = since;
        s.telling = true;
      } catch (...) {  // no thread, so no message
      }
    }
  }
  set_timer(next);
  if (!s.queued) s.changed.notify_all();
}

double hang_watch::waited(std::uint64_t since) const noexcept {
  const std::uint64_t now = now_ticks();
  return now > since ? static_cast<double>(now - since) * scale_.seconds_per_tick() : 0;
}

bool hang_watch::tell(std::uint64_t since) noexcept {
  try {
    hang_scene s;
    if (!look(since, s)) return false;
    const std::string text = s.text(on_, scale_, waited(since));
    if (handler_)
      handler_(text);
    else
      std::fputs(text.c_str(), stderr);
  } catch (...) {  // a message isn't worth an exception
  }
  return true;
}

/// The consumer keeps waiting during the look, so its batch can't change. False: that wait is over.
bool hang_watch::look(std::uint64_t since, hang_scene& out) {
  const std::lock_guard lock(looking_);
  struct mark {
    std::atomic<bool>& word;
    explicit mark(std::atomic<bool>& w) noexcept : word(w) { word.store(true, std::memory_order_relaxed); }
    ~mark() { word.store(false, std::memory_order_release); }
  } const until_the_end(looks_);
  // Either the consumer left already and since_ has changed, or it sees looks_ when it leaves.
  on_.order_with_helpers();
  if (since_.load(std::memory_order_acquire) != since) return false;
  view_.look(view_.of, sequence_.load(std::memory_order_relaxed), out);
  return true;
}

}  // namespace wick::detail
