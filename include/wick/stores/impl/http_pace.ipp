// What the threads of an http_client share: how much they ask for, and whether servers answer. Used only by
// http_client.ipp.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include <wick/async/detail/concurrency.hpp>
#include <wick/stores/detail/latencies.hpp>
#include <wick/stores/impl/http_request.ipp>

namespace wick::inline v0_1::detail {

/// Its functions may be called by any thread.
class http_pace {
 public:
  http_pace(const remote_options& o, std::unique_ptr<http_locator> l, std::size_t number_of_threads)
      : options(o),
        locator(std::move(l)),
        threads(number_of_threads),
        at_a_time_(o.requests ? concurrency(*o.requests, *o.requests, *o.requests)
                              : concurrency(32, 4, 256)) {}

  /// Requests at a time, of all threads.
  std::size_t limit() const noexcept { return limit_.load(std::memory_order_relaxed); }
  std::size_t most() const noexcept { return at_a_time_.most(); }
  /// How many threads get new requests. A request waits for those before it at its thread, also where another
  /// thread has nothing to do: fewer than eight at a time don't keep a thread busy, and are not divided.
  std::size_t used() const noexcept { return std::clamp<std::size_t>(limit() / 8, 1, threads); }
  /// Requests at a time of a thread: one where it has only old ones.
  std::size_t limit_of(std::size_t thread) const noexcept {
    const std::size_t n = used();
    return thread < n ? (limit() + n - 1 - thread) / n : 1;
  }

  /// The time, excluding pauses of the process.
  http_clock::time_point running_time() const noexcept {
    return http_clock::now() - http_clock::duration(stopped_.load(std::memory_order_relaxed));
  }
  /// The running time, for a thread that meant to sleep for `asked` after `last`: what is more than a second
  /// late was stopped.
  http_clock::time_point woke(http_clock::time_point last, http_clock::duration asked) noexcept {
    if (running_time() - last <= asked + std::chrono::seconds(1)) return running_time();
    const std::lock_guard lock(mutex_);
    const http_clock::duration late = running_time() - last - asked;  // another thread may have noted it
    if (late > std::chrono::seconds(1)) stopped_.fetch_add(late.count(), std::memory_order_relaxed);
    return running_time();
  }

  /// After many failures in a row, one request at a time probes whether a server answers.
  bool in_trouble() const noexcept {
    return failures_.load(std::memory_order_relaxed) >= std::max<std::size_t>(8, limit());
  }
  /// How often a server answered after a time of trouble.
  std::uint64_t recoveries() const noexcept { return recoveries_.load(std::memory_order_acquire); }
  /// \param pause  in trouble, until the next probe
  void failed(http_clock::duration pause) noexcept {
    failures_.fetch_add(1, std::memory_order_relaxed);
    if (in_trouble())
      probe_.store((http_clock::now() + pause).time_since_epoch().count(), std::memory_order_relaxed);
  }
  /// \param took  seconds, of which `first_byte` until the response began
  /// \param others_wait  whether the thread has more requests than it may send
  void succeeded(double took, double first_byte, bool others_wait) noexcept {
    if (failures_.load(std::memory_order_relaxed) != 0) {
      const bool was_in_trouble = in_trouble();
      failures_.store(0, std::memory_order_relaxed);
      if (was_in_trouble) recoveries_.fetch_add(1, std::memory_order_release);
    }
    const std::lock_guard lock(mutex_);
    answers.add(took);
    first_bytes.add(first_byte);
    const double now = std::chrono::duration<double>(running_time().time_since_epoch()).count();
    if (at_a_time_.ended(now, others_wait)) limit_.store(at_a_time_.limit(), std::memory_order_relaxed);
  }

  /// The earliest time of a thread's next probe. Threads take turns, since the requests of one may all be for
  /// a server that is gone.
  http_clock::time_point probe_of(std::size_t thread) const noexcept {
    const std::size_t later = (thread + threads - turn_.load(std::memory_order_relaxed)) % threads;
    return http_clock::time_point(http_clock::duration(probe_.load(std::memory_order_relaxed))) +
           later * std::chrono::milliseconds(10);
  }
  /// Whether this thread may probe now; then until end_probe(), no other thread may.
  bool begin_probe(std::size_t thread) noexcept {
    std::size_t none = 0;
    return http_clock::now() >= probe_of(thread) &&
           prober_.compare_exchange_strong(none, thread + 1, std::memory_order_relaxed);
  }
  /// Does nothing for a thread that doesn't probe.
  void end_probe(std::size_t thread) noexcept {
    if (prober_.load(std::memory_order_relaxed) != thread + 1) return;
    turn_.store((thread + 1) % threads, std::memory_order_relaxed);
    prober_.store(0, std::memory_order_relaxed);
  }

  const remote_options options;
  const std::unique_ptr<http_locator> locator;  // guarded by `locating`, but for names() and pinned()
  std::mutex locating;
  const std::size_t threads;
  http_versions versions;
  latencies answers, first_bytes;  // their times are read by any thread

 private:
  std::mutex mutex_;
  concurrency at_a_time_;                                             // guarded
  std::atomic<std::size_t> limit_{at_a_time_.limit()}, failures_{0};  // failures in a row
  std::atomic<http_clock::rep> stopped_{0};       // how long the process was stopped (SIGSTOP, a debugger)
  std::atomic<http_clock::rep> probe_{0};         // in trouble, the time of the next attempt
  std::atomic<std::size_t> prober_{0}, turn_{0};  // the thread that probes now, plus 1; that may probe next
  std::atomic<std::uint64_t> recoveries_{0};
};

}  // namespace wick::detail
