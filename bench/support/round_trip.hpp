// How far apart two processors are: what a cache line takes from one to the other and back.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include <wick/base/detail/cpus.hpp>

namespace wick_bench {

/// In nanoseconds, over 20,000 round trips between two threads that spin, wherever the system puts them; 0
/// where the program has one processor. On a virtual machine it tells whether the two share a cache today:
/// they take about 80 ns then, and about 350 where they don't.
inline double round_trip_ns() {
  if (wick::detail::available_cpus() < 2) return 0;
  constexpr std::uint64_t trips = 20'000;
  alignas(64) std::atomic<std::uint64_t> ball{0};
  std::thread other([&] {
    for (std::uint64_t i = 0; i < trips; ++i) {
      while (ball.load(std::memory_order_acquire) != 2 * i + 1) {
      }
      ball.store(2 * i + 2, std::memory_order_release);
    }
  });
  const auto begun = std::chrono::steady_clock::now();
  for (std::uint64_t i = 0; i < trips; ++i) {
    ball.store(2 * i + 1, std::memory_order_release);
    while (ball.load(std::memory_order_acquire) != 2 * i + 2) {
    }
  }
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begun;
  other.join();
  return took.count() / static_cast<double>(trips);
}

}  // namespace wick_bench
