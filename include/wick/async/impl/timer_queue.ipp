// Implements async/detail/timer_queue.hpp. Included in exactly one file of a program.
#pragma once

#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <wick/async/detail/timer_queue.hpp>
#include <wick/async/detail/visitors.hpp>
#include <wick/base/detail/condition.hpp>
#include <wick/base/detail/signal_mask.hpp>
#include <wick/base/detail/thread_name.hpp>

namespace wick::inline v0_1::detail {

struct timer_queue::shared {
  std::mutex mutex;
  condition wake;
  std::vector<timer*> heap;  // the earliest at 0; each knows its place
  std::uint64_t added = 0;
  std::size_t watching = 0;
  bool stopping = false;
  visitors wakers;  // threads between the mutex and the wake-up
  std::thread thread;

  static bool before(const timer* a, const timer* b) noexcept;
  void put(std::size_t i, timer* t) noexcept;
  void up(std::size_t i) noexcept;
  void down(std::size_t i) noexcept;
  void take_out(std::size_t i) noexcept;
};

timer_queue::timer_queue() : shared_(make_owned<shared>()) {}

timer_queue::~timer_queue() {
  stop();
  // In a forked child the thread doesn't exist: it can't be joined, and can't be destroyed unjoined.
  if (born_.elsewhere())
    static_cast<void>(shared_.release());
  else
    shared_->wakers.wait_until_gone();
}

bool timer_queue::add(timer& t) {
  born_.require_same("a timer was set");
  shared& s = *shared_;
  bool earliest = false;
  {
    std::lock_guard lock(s.mutex);
    if (s.stopping || t.place == timer::over) return false;
    if (!s.thread.joinable()) {
      const detail::signals_blocked quiet;
      s.thread = std::thread([&s, cpus = cpus_] {
        detail::name_this_thread("wick-time", 0);
        cpus.apply();  // the caller may be a worker that is bound to one processor
        work(s);
      });
    }
    s.heap.push_back(&t);
    s.watching += t.watches;
    t.number = s.added++;
    s.up(s.heap.size() - 1);
    earliest = t.place == 0;
    if (earliest) s.wakers.enter();
  }
  if (earliest) {
    s.wake.notify_one();
    s.wakers.leave();
  }
  return true;
}

bool timer_queue::cancel(timer& t) noexcept {
  if (born_.elsewhere()) return false;
  std::lock_guard lock(shared_->mutex);
  const std::size_t place = std::exchange(t.place, timer::over);
  if (place >= timer::over) return false;
  shared_->take_out(place);
  return true;
}

std::size_t timer_queue::size() const noexcept {
  std::lock_guard lock(shared_->mutex);
  return shared_->heap.size();
}

bool timer_queue::at_rest() const noexcept {
  std::lock_guard lock(shared_->mutex);
  return shared_->heap.size() == shared_->watching;
}

void timer_queue::stop() noexcept {
  if (born_.elsewhere()) return;
  {
    std::lock_guard lock(shared_->mutex);
    shared_->stopping = true;
  }
  shared_->wake.notify_one();
  if (shared_->thread.joinable()) shared_->thread.join();
}

bool timer_queue::shared::before(const timer* a, const timer* b) noexcept {
  return a->due != b->due ? a->due < b->due : a->number < b->number;
}

void timer_queue::shared::put(std::size_t i, timer* t) noexcept {
  heap[i] = t;
  t->place = i;
}

void timer_queue::shared::up(std::size_t i) noexcept {
  timer* const t = heap[i];
  for (; i != 0 && before(t, heap[(i - 1) / 2]); i = (i - 1) / 2) put(i, heap[(i - 1) / 2]);
  put(i, t);
}

void timer_queue::shared::down(std::size_t i) noexcept {
  timer* const t = heap[i];
  for (;;) {
    std::size_t child = 2 * i + 1;
    if (child >= heap.size()) break;
    if (child + 1 < heap.size() && before(heap[child + 1], heap[child])) ++child;
    if (!before(heap[child], t)) break;
    put(i, heap[child]);
    i = child;
  }
  put(i, t);
}

void timer_queue::shared::take_out(std::size_t i) noexcept {
  watching -= heap[i]->watches;
  timer* const last = heap.back();
  heap.pop_back();
  if (i == heap.size()) return;
  put(i, last);
  up(i);
  down(last->place);
}

void timer_queue::work(shared& s) noexcept {
  std::unique_lock lock(s.mutex);
  for (;;) {
    // All due timers are taken out under one lock and called without it.
    timer* first = nullptr;
    timer** end = &first;
    const timer::clock::time_point now = timer::clock::now();
    const bool on_time = !s.stopping;
    while (!s.heap.empty() && (!on_time || s.heap.front()->due <= now)) {
      timer* const t = s.heap.front();
      s.take_out(0);
      t->place = timer::over;
      t->next = nullptr;
      *end = t;
      end = &t->next;
    }
    if (first != nullptr) {
      lock.unlock();
      while (first != nullptr) {
        timer* const t = std::exchange(first, first->next);
        t->expired(t, on_time);
      }
      lock.lock();
    } else if (s.stopping) {
      return;
    } else if (s.heap.empty()) {
      s.wake.wait(lock);
    } else {
      s.wake.wait_for(lock, s.heap.front()->due - now);
    }
  }
}

}  // namespace wick::detail
