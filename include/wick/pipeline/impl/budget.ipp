// Implements pipeline/detail/budget.hpp. Included in exactly one file of a program.
#pragma once

#include <wick/pipeline/detail/budget.hpp>

namespace wick::inline v0_1::detail {

byte_budget::byte_budget(std::size_t limit, clock::duration patience, const executor* workers)
    : limit_(limit),
      workers_(workers),
      kept_(workers != nullptr ? workers->slots() : 0,
            workers != nullptr ? std::min(most_kept, limit / (8 * workers->slots())) : 0),
      patience_{patience, patience},
      at_rest_{patience / 100, patience / 100} {}

bool byte_budget::try_acquire(byte_account& into, std::size_t bytes) noexcept {
  const std::size_t slot = this_slot();
  if (slot != executor::none && kept_.take(slot, bytes)) {
    credit(into, bytes);
    if (kept_.allowed()) return true;
    // Another coroutine of this work may have begun to wait before these bytes were in the account.
    job* granted = nullptr;
    job** end = &granted;
    {
      const std::lock_guard lock(mutex_);
      count_idle(into);
      serve_all_that_fit(end);
    }
    post_all(granted);
    return true;
  }
  const std::lock_guard lock(mutex_);
  if (!waiting_.empty()) return false;
  if (!fits(bytes)) collect_kept();
  const bool has_room = fits(bytes);
  if (!has_room && !all_wait()) return false;
  take(bytes);
  credit(into, bytes);
  count_idle(into);
  if (slot == executor::none || !has_room) return true;
  if (!kept_.allowed() && ++fitted_ == 256) kept_.allow();
  const std::size_t more = kept_.more_for(slot, bytes);
  if (more != 0 && fits(more)) {
    take(more);
    kept_.add(slot, more);
  }
  return true;
}

void byte_budget::serve(job**& end) noexcept {
  std::pop_heap(waiting_.begin(), waiting_.end(), waiter::later);
  serve_last(end);
}

void byte_budget::release(byte_account& from) noexcept {
  std::size_t bytes = from.bytes_.load(std::memory_order_relaxed);
  from.bytes_.store(0, std::memory_order_relaxed);
  from.reported_.store(0, std::memory_order_relaxed);
  if (const std::size_t slot = this_slot(); slot != executor::none) {
    bytes = kept_.keep(slot, bytes);
    if (bytes == 0) return;
  }
  job* granted = nullptr;
  job** end = &granted;
  {
    std::lock_guard lock(mutex_);
    used_.store(used_.load(std::memory_order_relaxed) - bytes, std::memory_order_relaxed);
    given_back_ = true;
    serve_all_that_fit(end);
  }
  post_all(granted);
}

void byte_budget::let_through(job**& end) noexcept {
  auto chosen = waiting_.end();
  for (auto w = waiting_.begin(); w != waiting_.end(); ++w) {
    const bool holds = (*w)->into_->bytes_.load(std::memory_order_relaxed) != 0;
    if (holds && (chosen == waiting_.end() || waiter::later(*chosen, *w))) chosen = w;
  }
  if (chosen == waiting_.end()) return serve(end);
  std::iter_swap(chosen, waiting_.end() - 1);
  std::make_heap(waiting_.begin(), waiting_.end() - 1, waiter::later);
  serve_last(end);
}

void byte_budget::serve_last(job**& end) noexcept {
  waiter* const w = waiting_.back();
  waiting_.pop_back();
  take(w->bytes_);
  byte_account& into = *w->into_;
  if (--into.waiting_ == 0) idle_ -= std::exchange(into.idle_, 0);
  credit(into, w->bytes_);
  count_idle(into);
  w->granted_ = true;
  w->next = nullptr;
  *end = w;
  end = &w->next;
}

void byte_budget::serve_all_that_fit(job**& end) noexcept {
  while (!waiting_.empty()) {
    if (fits(waiting_.front()->bytes_)) {
      serve(end);
    } else if (all_wait()) {
      let_through(end);
    } else {
      return;
    }
  }
}

void byte_budget::watch(executor& on) noexcept {
  watch_.of = this;
  watch_.due = clock::now() + std::min(patience_.now, at_rest_.now);
  watch_.watches = true;
  watch_.place = timer::unseen;
  watch_.expired = [](timer* t, bool on_time) noexcept { static_cast<watch_timer*>(t)->of->look(on_time); };
  bool added = false;
  try {
    added = on.timers().add(watch_);
  } catch (...) {  // the thread can't be started: no timer watches, then
  }
  watched_on_ = added ? &on : nullptr;
}

void byte_budget::post_all(job* first) noexcept {
  while (first != nullptr) {
    job* const j = std::exchange(first, first->next);
    static_cast<waiter*>(j)->wait_.now(wait_for::worker);
    static_cast<waiter*>(j)->on_->post(j);
  }
}

bool byte_budget::wait(waiter* w) {
  job* granted = nullptr;
  job** end = &granted;
  bool waits = true;
  {
    std::lock_guard lock(mutex_);
    waiting_.push_back(w);
    std::push_heap(waiting_.begin(), waiting_.end(), waiter::later);
    collect_kept();
    ++w->into_->waiting_;
    count_idle(*w->into_);
    // Others may continue now: perhaps all that hold bytes are waiting.
    serve_all_that_fit(end);
    if (w->granted_) {
      waits = false;
      job** at = &granted;
      while (*at != w) at = &(*at)->next;
      *at = w->next;
    } else if (watched_on_ == nullptr) {
      given_back_ = rested_ = false;
      since_ = clock::now();
      watch(*w->on_);
    }
  }
  post_all(granted);
  return waits;
}

void byte_budget::look(bool on_time) noexcept {
  job* granted = nullptr;
  job** end = &granted;
  {
    std::lock_guard lock(mutex_);
    if (!on_time || waiting_.empty()) {
      patience_.now = patience_.least;
      at_rest_.now = at_rest_.least;
      watched_on_ = nullptr;
      unwatched_.notify_all();
      return;
    }
    executor& on = *waiting_.front()->on_;
    const auto now = clock::now();
    const bool rests = on.at_rest();
    bool served = true;
    if (std::exchange(given_back_, false)) {
      patience_.shorter();
      at_rest_.shorter();
    } else if (rests && rested_ && now - since_ >= at_rest_.now) {
      let_through(end);
      at_rest_.longer();
    } else if (now - since_ >= patience_.now) {
      let_through(end);
      patience_.longer();
    } else {
      served = false;
    }
    if (served) since_ = now;
    rested_ = rests;
    watch(on);
    if (watched_on_ == nullptr) unwatched_.notify_all();
  }
  post_all(granted);
}

byte_budget::~byte_budget() {
  if (born_.elsewhere()) return;  // a forked child has no timers
  std::unique_lock lock(mutex_);
  if (executor* const on = watched_on_; on != nullptr && on->timers().cancel(watch_)) return;
  unwatched_.wait(lock, [&] { return watched_on_ == nullptr; });
}

}  // namespace wick::detail
