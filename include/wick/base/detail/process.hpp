/// \file
/// Knowing that one is in a forked child, where no thread but the one that forked exists.
#pragma once

#include <atomic>
#include <cstdint>

namespace wick::inline v0_1::detail {

/// How many forks lie between the process that first asked and this one. Counted by a handler, because asking
/// the system for the process id at each use is a system call.
inline std::atomic<std::uint32_t>& forks() noexcept {
  static constinit std::atomic<std::uint32_t> count{0};
  return count;
}

/// Remembers the process that it was made in.
class process_mark {
 public:
  process_mark() noexcept;
  bool elsewhere() const noexcept { return forks().load(std::memory_order_relaxed) != made_in_; }
  /// \throws std::logic_error in a forked child
  void require_same(const char* what) const {
    if (elsewhere()) refuse(what);
  }

 private:
  [[noreturn, gnu::noinline]] static void refuse(const char* what);
  std::uint32_t made_in_ = 0;
};

}  // namespace wick::detail
