/// \file
/// How many processors this process may really use: what its affinity mask and its control group leave it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <thread>

#ifdef __linux__
#include <sched.h>
#endif

namespace wick {

namespace detail {

/// The quota of a cgroup-v2 `cpu.max` text ("200000 100000" is 2, "max 100000" is 0: none), rounded up.
inline std::size_t parse_cpu_max(const char* text) noexcept {
  char* end = nullptr;
  const long long quota = std::strtoll(text, &end, 10);
  if (end == text || quota <= 0) return 0;
  const long long period = std::strtoll(end, nullptr, 10);
  return period <= 0 ? 0 : static_cast<std::size_t>(quota / period + (quota % period != 0 ? 1 : 0));
}

}  // namespace detail

/// At least 1. A container with two of 64 processors says 2 here, where hardware_concurrency may say 64.
inline std::size_t available_cpus() noexcept {
  std::size_t n = std::max(1u, std::thread::hardware_concurrency());
#ifdef __linux__
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0) {
    n = static_cast<std::size_t>(CPU_COUNT(&set));
  }
  if (std::FILE* f = std::fopen("/sys/fs/cgroup/cpu.max", "re")) {
    char text[64] = {};
    if (std::fgets(text, sizeof(text), f) != nullptr) {
      if (const std::size_t quota = detail::parse_cpu_max(text)) n = std::min(n, quota);
    }
    std::fclose(f);
  }
#endif
  return std::max<std::size_t>(n, 1);
}

}  // namespace wick
