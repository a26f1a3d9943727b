/// \file
/// Where the time of a stage goes: how often it ran, how long it worked, how long it waited.
#pragma once

#include <atomic>
#include <cstdint>

namespace wick::detail {

/// One stage on one worker. Written by that worker alone, read by any thread that makes a report: plain loads
/// and stores, relaxed, because a report needs each number whole and not all of the same instant. Short
/// samples are timed now and then only, so the time of all is inferred from the timed ones.
class stage_clock {
 public:
  void ran(std::uint64_t times) noexcept { add(count_, times); }
  void worked(std::uint64_t times, std::uint64_t ticks) noexcept {
    add(timed_, times);
    add(ticks_, ticks);
  }
  void waited(std::uint64_t ticks) noexcept { add(waited_, ticks); }

  std::uint64_t count() const noexcept { return count_.load(std::memory_order_relaxed); }
  std::uint64_t timed() const noexcept { return timed_.load(std::memory_order_relaxed); }
  std::uint64_t timed_ticks() const noexcept { return ticks_.load(std::memory_order_relaxed); }
  std::uint64_t waited_ticks() const noexcept { return waited_.load(std::memory_order_relaxed); }

 private:
  static void add(std::atomic<std::uint64_t>& to, std::uint64_t n) noexcept {
    to.store(to.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  std::atomic<std::uint64_t> count_{0}, timed_{0}, ticks_{0}, waited_{0};
};

}  // namespace wick::detail
