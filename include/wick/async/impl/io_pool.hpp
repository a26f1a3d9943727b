/// \file
/// The bodies of what async/io_pool.hpp declares. Included in exactly one file of a program.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include <wick/async/detail/condition.hpp>
#include <wick/async/detail/cpu_set.hpp>
#include <wick/async/detail/owned.hpp>
#include <wick/async/detail/process.hpp>
#include <wick/async/detail/processor_time.hpp>
#include <wick/async/detail/signal_mask.hpp>
#include <wick/async/detail/thread_name.hpp>
#include <wick/async/io_pool.hpp>
#include <wick/async/job.hpp>

namespace wick::detail {

struct io_pool::shared {
  std::mutex mutex;
  condition wake;
  job* first = nullptr;
  job** last = &first;
  std::size_t running = 0;
  bool stopping = false;
  std::chrono::steady_clock::duration calls{};
  std::vector<std::thread> threads;
};

io_pool::io_pool(std::size_t threads) : count_(threads < 1 ? 1 : threads), shared_(make_owned<shared>()) {}

io_pool::~io_pool() {
  stop();
  // In a forked child the threads are missing: they can't be joined, nor destroyed without.
  if (born_.elsewhere()) static_cast<void>(shared_.release());
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
  {
    std::lock_guard lock(s.mutex);
    if (s.stopping) {
      throw std::logic_error(
          "wick: a blocking call was started while its executor is being destroyed; let loaders and tasks "
          "end before");
    }
    if (s.threads.empty()) start();
    j->next = nullptr;
    *s.last = j;
    s.last = &j->next;
  }
  s.wake.notify_one();
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

void io_pool::start() {
  shared_->threads.reserve(count_);
  const detail::signals_blocked quiet;
  for (std::size_t i = 0; i < count_; ++i) {
    shared_->threads.emplace_back([&s = *shared_, i, cpus = cpus_] {
      detail::name_this_thread("wick-io", i);
      cpus.apply();  // the caller may be a worker that is bound to one
      mine() = {&s, static_cast<std::uint32_t>(i)};
      work(s);
    });
  }
}

io_pool::membership& io_pool::mine() noexcept {
  thread_local membership of;
  return of;
}

void io_pool::work(shared& s) noexcept {
  std::unique_lock lock(s.mutex);
  for (;;) {
    s.wake.wait(lock, [&] { return s.first != nullptr || s.stopping; });
    if (s.first == nullptr) return;
    job* const j = s.first;
    s.first = j->next;
    if (s.first == nullptr) s.last = &s.first;
    ++s.running;
    lock.unlock();
    const auto begun = std::chrono::steady_clock::now();
    j->execute(j);
    const auto took = std::chrono::steady_clock::now() - begun;
    lock.lock();
    --s.running;
    s.calls += took;
  }
}

}  // namespace wick::detail
