// Implements base/detail/cpu_set.hpp. Included in exactly one file of a program.
#pragma once

#include <cerrno>

#include <wick/base/detail/cpu_set.hpp>

namespace wick::inline v0_1::detail {

cpu_set cpu_set::of_this_thread() {
  cpu_set out;
#ifdef __linux__
  // glibc's cpu_set_t has 1024 bits; a kernel with more refuses it with EINVAL.
  for (std::size_t sets = 1; sets <= 64; sets *= 2) {
    out.bits_.assign(sets, ::cpu_set_t{});
    if (::sched_getaffinity(0, out.bytes(), out.bits_.data()) == 0) return out;
    if (errno != EINVAL) break;
  }
  out.bits_.clear();
#endif
  return out;
}

cpu_set cpu_set::of(int cpu) {
  cpu_set out;
#ifdef __linux__
  if (cpu >= 0) {
    out.bits_.assign(static_cast<std::size_t>(cpu) / CPU_SETSIZE + 1, ::cpu_set_t{});
    CPU_SET_S(static_cast<std::size_t>(cpu), out.bytes(), out.bits_.data());
  }
#else
  static_cast<void>(cpu);
#endif
  return out;
}

std::vector<int> cpu_set::numbers() const {
  std::vector<int> out;
#ifdef __linux__
  for (std::size_t i = 0; i < bits_.size() * CPU_SETSIZE; ++i) {
    if (CPU_ISSET_S(i, bytes(), bits_.data())) out.push_back(static_cast<int>(i));
  }
#endif
  return out;
}

bool cpu_set::apply() const noexcept {
#ifdef __linux__
  return bits_.empty() || ::sched_setaffinity(0, bytes(), bits_.data()) == 0;
#else
  return true;
#endif
}

}  // namespace wick::detail
