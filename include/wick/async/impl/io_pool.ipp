// Implements async/detail/io_pool.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <chrono>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include <wick/async/detail/io_pool.hpp>
#include <wick/async/detail/visitors.hpp>
#include <wick/base/detail/condition.hpp>
#include <wick/base/detail/processor_time.hpp>
#include <wick/base/detail/signal_mask.hpp>
#include <wick/base/detail/thread_name.hpp>

namespace wick::inline v0_1::detail {

struct io_pool::shared {
  explicit shared(const concurrency& c) : at_a_time(c) {}
  bool may_run() const noexcept { return first != nullptr && (running < at_a_time.limit() || stopping); }
  /// Whether to wake a thread for a job that was queued. If as many run as may, they take it later.
  bool may_wake() noexcept {
    if (idle <= waking || running + waking >= at_a_time.limit()) return false;
    ++waking;
    return true;
  }

  job* next() noexcept {
    job* const out = first;
    if (out == nullptr) return nullptr;
    first = out->next;
    if (first == nullptr) last = &first;
    --queued;
    return out;
  }

  concurrency at_a_time;
  std::mutex mutex;
  condition wake;
  job* first = nullptr;
  job** last = &first;
  std::size_t queued = 0, running = 0, idle = 0;  // jobs, jobs, threads
  std::size_t waking = 0;                         // idle threads that were sent a wake-up
  bool stopping = false;
  visitors wakers;  // threads between the mutex and the wake-up
  std::chrono::steady_clock::duration calls{};
  std::vector<std::thread> threads;
};

io_pool::io_pool(const concurrency& at_a_time)
    : most_(std::max<std::size_t>(at_a_time.most(), 1)),
      chooses_(!at_a_time.fixed()),
      limit_(std::max<std::size_t>(at_a_time.limit(), 1)),
      shared_(make_owned<shared>(at_a_time)) {}

io_pool::~io_pool() {
  stop();
  // In a forked child the threads don't exist: they can't be joined, and can't be destroyed unjoined.
  if (born_.elsewhere())
    static_cast<void>(shared_.release());
  else
    shared_->wakers.wait_until_gone();
}

io_pool::usage io_pool::used() const {
  if (born_.elsewhere()) return {};
  const std::lock_guard lock(shared_->mutex);
  usage out{.calls = std::chrono::duration<double>(shared_->calls).count()};
  for (std::thread& t : shared_->threads) {
    if (t.joinable()) out.processor += thread_seconds(t.native_handle());
  }
  return out;
}

bool io_pool::at_rest() const noexcept {
  const std::lock_guard lock(shared_->mutex);
  return shared_->first == nullptr && shared_->running == 0;
}

void io_pool::post(job* j) {
  born_.require_same("a blocking call was started");
  shared& s = *shared_;
  bool wake = false;
  {
    std::lock_guard lock(s.mutex);
    if (s.stopping) {
      throw std::logic_error(
          "wick: a blocking call was started while its executor is being destroyed; let loaders and tasks "
          "end before");
    }
    ++s.queued;
    try {
      grow();
    } catch (...) {  // another thread runs it, if there is one
      if (s.threads.empty()) {
        --s.queued;
        throw;
      }
    }
    j->next = nullptr;
    *s.last = j;
    s.last = &j->next;
    wake = s.may_wake();
    if (wake) s.wakers.enter();
  }
  if (!wake) return;
  s.wake.notify_one();
  s.wakers.leave();
}

bool io_pool::run_one() noexcept {
  std::unique_lock lock(shared_->mutex);
  job* const j = shared_->next();
  lock.unlock();
  if (j != nullptr) j->execute(j);
  return j != nullptr;
}

void io_pool::stop() noexcept {
  if (born_.elsewhere()) return;
  shared& s = *shared_;
  {
    std::lock_guard lock(s.mutex);
    s.stopping = true;
  }
  s.wake.notify_all();
  for (std::thread& t : s.threads) {
    if (t.joinable()) t.join();
  }
  s.threads.clear();
}

void io_pool::grow() {
  shared& s = *shared_;
  const std::size_t limit = threads();
  if (s.threads.empty()) {
    s.threads.reserve(most_);
    while (s.threads.size() < limit) start_one();
  } else if (!s.stopping && s.queued > s.idle && s.threads.size() < limit) {
    start_one();
  }
}

void io_pool::start_one() {
  shared& s = *shared_;
  const std::size_t number = s.threads.size();
  const detail::signals_blocked quiet;
  s.threads.emplace_back([this, &s, number] {
    detail::name_this_thread("wick-io", number);
    cpus_.apply();  // the caller may be a worker that is bound to one processor
    mine() = {&s, static_cast<std::uint32_t>(number)};
    work(s);
  });
}

io_pool::membership& io_pool::mine() noexcept {
  thread_local membership of;
  return of;
}

void io_pool::work(shared& s) noexcept {
  std::unique_lock lock(s.mutex);
  for (;;) {
    ++s.idle;
    while (!s.may_run() && !s.stopping) {
      s.wake.wait(lock);
      if (s.waking != 0) --s.waking;
    }
    --s.idle;
    if (s.first == nullptr) return;
    job* const j = s.next();
    ++s.running;
    lock.unlock();
    const auto begun = std::chrono::steady_clock::now();
    j->execute(j);
    const auto ended = std::chrono::steady_clock::now();
    lock.lock();
    --s.running;
    s.calls += ended - begun;
    const double now = std::chrono::duration<double>(ended.time_since_epoch()).count();
    if (s.at_a_time.ended(now, s.queued != 0)) {
      limit_.store(s.at_a_time.limit(), std::memory_order_relaxed);
      s.wake.notify_all();
    }
    try {
      grow();
    } catch (...) {  // no new thread could be started: the existing ones run the calls
    }
  }
}

}  // namespace wick::detail
