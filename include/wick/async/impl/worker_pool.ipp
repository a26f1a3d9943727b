// Implements async/detail/worker_pool.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>

#include <wick/async/detail/run_queues.hpp>
#include <wick/async/executor.hpp>
#include <wick/base/detail/cpus.hpp>
#include <wick/base/detail/processor_time.hpp>
#include <wick/base/detail/signal_mask.hpp>
#include <wick/base/detail/thread_name.hpp>

namespace wick::inline v0_1::detail {

struct worker_pool::queues : run_queues {
  using run_queues::run_queues;
};

struct worker_pool::threads {
  /// What other threads may read about a worker, as long as this exists.
  struct look {
    std::atomic<const resumption*> at{nullptr};
    std::atomic<int> id{0};
  };
  std::vector<std::thread> all;
  std::unique_ptr<look[]> looks;
};

void worker_pool::refuse(const char* call, const char* whom, const char* instead) {
  throw std::logic_error(std::string("wick: ") + call + " would block " + whom + "; write " + instead +
                         " there");
}

void worker_pool::bind(binding& to, int cpu) noexcept {
  if (cpu < 0 || !cpu_set::of(cpu).apply()) to.refused = cpu;
  to.tried.set();
}

/// Never inlined: a coroutine that is resumed on another thread must ask again.
[[gnu::noinline]] worker_pool::identity& worker_pool::self() noexcept {
  thread_local identity me;
  return me;
}

void worker_pool::post(job* j) {
  if (forked()) require_workers();
  const identity& me = self();
  queues_->post(j, me.of == this ? me.slot : none);
}

void worker_pool::work(std::size_t number) noexcept {
  self() = {this, number};
  note_thread(number);
  while (job* const j = queues_->next(number)) j->execute(j);
}

worker_pool::helper::helper(worker_pool& ex) noexcept : ex_(ex) {
  std::uint32_t taken = ex.helpers_.load(std::memory_order_relaxed);
  for (;;) {
    std::size_t i = 0;
    while (i < max_helpers && ((taken >> i) & 1u) != 0) ++i;
    if (i == max_helpers) return;
    if (ex.helpers_.compare_exchange_weak(taken, taken | (1u << i), std::memory_order_acq_rel)) {
      slot_ = ex.workers() + i;
      break;
    }
  }
  identity& me = self();
  outer_of_ = me.of;
  outer_slot_ = me.slot;
  me = {&ex, slot_};
  ++thread_mark;
}

worker_pool::helper::~helper() {
  if (slot_ == none) return;
  --thread_mark;
  self() = {outer_of_, outer_slot_};
  ex_.helpers_.fetch_and(~(1u << (slot_ - ex_.workers())), std::memory_order_acq_rel);
}

bool worker_pool::run_one() noexcept {
  const std::size_t slot = this_slot();
  if (slot >= workers()) return io_.has_this_thread() && io_.run_one();
  job* const j = queues_->poll(slot);
  if (j != nullptr) j->execute(j);
  return j != nullptr;
}

bool worker_pool::queue_is_long() const noexcept {
  const identity& me = self();
  return me.of == this && me.slot < workers() && queues_->is_long(me.slot);
}

bool worker_pool::should_yield() noexcept {
  const std::size_t slot = this_slot();
  return slot < workers() && queues_->should_yield(slot);
}
std::uint64_t worker_pool::stolen() const noexcept { return queues_->stolen(); }
std::size_t worker_pool::asleep() const noexcept { return queues_->asleep(); }

bool worker_pool::at_rest() const noexcept {
  return helpers_.load(std::memory_order_relaxed) == 0 && io_.at_rest() && timers_.at_rest() &&
         !queues_->anything() && asleep() == workers();
}

namespace {

std::size_t at_least_1(const char* name, std::size_t given) {
  if (given == 0) {
    throw std::invalid_argument(std::string("wick: executor: ") + name +
                                " is 0; it is at least 1, or left out");
  }
  return given;
}

concurrency calls_at_a_time(std::optional<std::size_t> io_threads, std::size_t workers) {
  if (io_threads) {
    const std::size_t n = at_least_1("io_threads", *io_threads);
    return {n, n, n};
  }
  return {std::clamp<std::size_t>(2 * workers, 4, 32), 1, 256};
}

}  // namespace

worker_pool::worker_pool(const executor_options& options)
    : workers_(at_least_1("workers", options.workers ? *options.workers : available_cpus())),
      queues_(make_owned<queues>(workers_, options.queue_capacity)),
      threads_(make_owned<threads>()),
      io_(calls_at_a_time(options.io_threads, workers())) {
  const std::size_t n = workers();
  threads_->all.reserve(n);
  threads_->looks = std::make_unique<threads::look[]>(n);
  // Outlives the threads' use of it: all have tried before the constructor ends, or the constructor has
  // joined them.
  const auto bindings = options.pin_to.empty() ? nullptr : std::make_unique<binding[]>(n);
  try {
    for (std::size_t i = 0; i < n; ++i) {
      const int cpu = options.pin_to.empty() ? unbound : options.pin_to[i % options.pin_to.size()];
      binding* const to = bindings ? &bindings[i] : nullptr;
      const signals_blocked quiet;
      threads_->all.emplace_back([this, i, cpu, to, nice = options.nice, name = options.name] {
        name_this_thread(name.c_str(), i);
        lower_priority(nice);
        if (to != nullptr) bind(*to, cpu);
        work(i);
      });
    }
    for (std::size_t i = 0; bindings && i < n; ++i) {
      bindings[i].tried.wait();
      if (bindings[i].refused == unbound) continue;
      std::string allowed;
      for (const int c : allowed_cpus()) allowed += ' ' + std::to_string(c);
      throw std::invalid_argument("wick: executor: worker " + std::to_string(i) +
                                  " can't be bound to processor " + std::to_string(bindings[i].refused) +
                                  "; pin_to may name" + allowed);
    }
  } catch (...) {  // the threads that did start must be joined
    end_workers();
    throw;
  }
}

worker_pool::~worker_pool() {
  if (forked()) {  // no thread exists to wait for or to join
    static_cast<void>(threads_.release());
    return;
  }
  timers_.stop();  // wakes sleeping coroutines, with "cancelled"
  io_.stop();      // runs its remaining calls, which post their continuations here
  end_workers();
  queues_->wait_for_posters();
}

std::vector<double> worker_pool::worker_seconds() const {
  std::vector<double> out;
  if (forked()) return out;
  for (std::thread& w : threads_->all) out.push_back(w.joinable() ? thread_seconds(w.native_handle()) : 0);
  return out;
}

void worker_pool::note_thread(std::size_t number) noexcept {
  threads_->looks[number].id.store(this_thread_id(), std::memory_order_relaxed);
  threads_->looks[number].at.store(&this_thread_resumption(), std::memory_order_release);
}

std::size_t worker_pool::worker_at(const activity* of) const noexcept {
  for (std::size_t i = 0; i < workers(); ++i) {
    const resumption* const r = threads_->looks[i].at.load(std::memory_order_acquire);
    if (r != nullptr && r->of.load(std::memory_order_relaxed) == of) return i;
  }
  return none;
}

int worker_pool::thread_of(std::size_t worker) const noexcept {
  return worker < workers() ? threads_->looks[worker].id.load(std::memory_order_relaxed) : 0;
}

void worker_pool::end_workers() noexcept {
  queues_->stop();
  for (std::thread& w : threads_->all) w.join();
}

}  // namespace wick::detail
