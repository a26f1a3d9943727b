/// \file
/// The processors that a thread may run on, on machines of any size.
#pragma once

#include <cstddef>
#include <vector>

#ifdef __linux__
#include <cerrno>
#include <sched.h>
#endif

namespace wick::detail {

/// The system's bit mask, as long as the kernel's is. Empty where there is no such thing.
class cpu_set {
 public:
  static cpu_set of_this_thread() {
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

  static cpu_set of(int cpu) {
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

  /// Their numbers, ascending.
  std::vector<int> numbers() const {
    std::vector<int> out;
#ifdef __linux__
    for (std::size_t i = 0; i < bits_.size() * CPU_SETSIZE; ++i) {
      if (CPU_ISSET_S(i, bytes(), bits_.data())) out.push_back(static_cast<int>(i));
    }
#endif
    return out;
  }

  /// Binds the calling thread. False when the system refuses; an empty set changes nothing.
  bool apply() const noexcept {
#ifdef __linux__
    return bits_.empty() || ::sched_setaffinity(0, bytes(), bits_.data()) == 0;
#else
    return true;
#endif
  }

 private:
#ifdef __linux__
  std::size_t bytes() const noexcept { return bits_.size() * sizeof(::cpu_set_t); }
  std::vector<::cpu_set_t> bits_;
#endif
};

}  // namespace wick::detail
