/// \file
/// The bodies of what run/executor.hpp declares. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <wick/run/detail/activity.hpp>
#include <wick/run/detail/resume.hpp>
#include <wick/run/detail/run_queues.hpp>
#include <wick/run/executor.hpp>
#include <wick/run/io_pool.hpp>
#include <wick/run/timer_queue.hpp>
#include <wick/system/cpus.hpp>
#include <wick/system/detail/brief_lock.hpp>
#include <wick/system/detail/cpu_set.hpp>
#include <wick/system/detail/futex.hpp>
#include <wick/system/detail/owned.hpp>
#include <wick/system/detail/process.hpp>
#include <wick/system/detail/processor_time.hpp>
#include <wick/system/detail/signal_mask.hpp>
#include <wick/system/detail/thread_name.hpp>

namespace wick {

struct executor::threads {
  /// What others may see of who has a slot; it stays where it is as long as it is noted here.
  struct mark {
    std::mutex mutex;
    const detail::resumption* at = nullptr;
    int id = 0;
  };
  explicit threads(std::size_t slots) : marks(new mark[slots]) {}
  std::vector<std::thread> all;
  const std::unique_ptr<mark[]> marks;
};

void executor::refuse(const char* call, const char* whom, const char* instead) {
  throw std::logic_error(std::string("wick: ") + call + " would block " + whom + "; write " + instead +
                         " there");
}

void executor::bind(binding& to, int cpu) noexcept {
  if (cpu < 0 || !detail::cpu_set::of(cpu).apply()) to.refused = cpu;
  to.tried.set();
}

executor::executor(executor_options options)
    : queues_(options.workers != 0 ? options.workers : detail::available_cpus(), options.queue_capacity),
      threads_(detail::make_owned<threads>(slots())),
      io_(options.io_threads != 0 ? options.io_threads : std::clamp<std::size_t>(2 * workers(), 4, 32)) {
  const std::size_t n = workers();
  threads_->all.reserve(n);
  // Outlives the threads' use of it: all have tried before the constructor ends or has joined them.
  const auto bindings = options.pin_to.empty() ? nullptr : std::make_unique<binding[]>(n);
  try {
    for (std::size_t i = 0; i < n; ++i) {
      const int cpu = options.pin_to.empty() ? unbound : options.pin_to[i % options.pin_to.size()];
      binding* const to = bindings ? &bindings[i] : nullptr;
      const detail::signals_blocked quiet;
      threads_->all.emplace_back([this, i, cpu, to, name = options.name] {
        detail::name_this_thread(name.c_str(), i);
        if (to != nullptr) bind(*to, cpu);
        show(i);
        work(i);
        hide(i);
      });
    }
    for (std::size_t i = 0; bindings && i < n; ++i) {
      bindings[i].tried.wait();
      if (bindings[i].refused == unbound) continue;
      std::string allowed;
      for (const int c : detail::allowed_cpus()) allowed += ' ' + std::to_string(c);
      throw std::invalid_argument("wick: executor: worker " + std::to_string(i) +
                                  " can't be bound to processor " + std::to_string(bindings[i].refused) +
                                  "; pin_to may name" + allowed);
    }
  } catch (...) {  // no more threads to be had: those that started must be joined
    end_workers();
    throw;
  }
}

executor::~executor() {
  if (forked()) {  // the threads are missing: there is nobody to be waited for, and nothing to be joined
    static_cast<void>(threads_.release());
    return;
  }
  timers_.stop();  // wakes who sleeps, with "cancelled"
  io_.stop();      // what it still has is done, and posts its continuations here
  end_workers();
}

std::vector<double> executor::worker_seconds() const {
  std::vector<double> out;
  if (forked()) return out;
  for (std::thread& w : threads_->all)
    out.push_back(w.joinable() ? detail::thread_seconds(w.native_handle()) : 0);
  return out;
}

void executor::show(std::size_t slot) noexcept {
  threads::mark& mine = threads_->marks[slot];
  const auto lock = detail::lock_briefly(mine.mutex);
  mine.at = &detail::this_thread_resumption();
  mine.id = detail::this_thread_id();
}

void executor::hide(std::size_t slot) noexcept {
  threads::mark& mine = threads_->marks[slot];
  const auto lock = detail::lock_briefly(mine.mutex);
  mine.at = nullptr;
  mine.id = 0;
}

std::size_t executor::slot_at(const detail::activity* of) const noexcept {
  if (of == nullptr || forked()) return none;
  for (std::size_t i = 0; i < slots(); ++i) {
    threads::mark& mark = threads_->marks[i];
    const auto lock = detail::lock_briefly(mark.mutex);
    if (mark.at != nullptr && mark.at->of == of) return i;
  }
  return none;
}

int executor::thread_in(std::size_t slot) const noexcept {
  if (slot >= slots() || forked()) return 0;
  threads::mark& mark = threads_->marks[slot];
  const auto lock = detail::lock_briefly(mark.mutex);
  return mark.id;
}

void executor::end_workers() noexcept {
  queues_.stop();
  for (std::thread& w : threads_->all) w.join();
}

}  // namespace wick
