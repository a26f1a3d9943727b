/// \file
/// Knowing that one is in a forked child, where no thread but the one that forked exists.
#pragma once

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

namespace wick::detail {

/// How many forks lie between the process that first asked and this one. Counted by a handler, because asking
/// the system for the process id at each use is a system call.
inline std::atomic<std::uint32_t>& forks() noexcept {
  static constinit std::atomic<std::uint32_t> count{0};
  return count;
}

/// Remembers the process that it was made in.
class process_mark {
 public:
  process_mark() noexcept {
#if defined(__unix__) || defined(__APPLE__)
    static const int registered =
        ::pthread_atfork(nullptr, nullptr, [] { forks().fetch_add(1, std::memory_order_relaxed); });
    static_cast<void>(registered);
#endif
    made_in_ = forks().load(std::memory_order_relaxed);
  }
  bool elsewhere() const noexcept { return forks().load(std::memory_order_relaxed) != made_in_; }
  /// \throws std::logic_error in a forked child
  void require_same(const char* what) const {
    if (elsewhere()) refuse(what);
  }

 private:
  [[noreturn, gnu::noinline]] static void refuse(const char* what) {
    throw std::logic_error(
        std::string("wick: ") + what +
        " in a forked child: its threads stayed in the parent. Fork before you make executors and "
        "loaders, or make new ones in the child");
  }
  std::uint32_t made_in_ = 0;
};

}  // namespace wick::detail
