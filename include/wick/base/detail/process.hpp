// Detects a forked child, where only the thread that forked exists.
#pragma once

#include <atomic>
#include <cstdint>

namespace wick::inline v0_1::detail {

/// The number of forks between the process that first asked and this one. A handler counts them, because
/// asking for the process id at each use would be a system call.
inline std::atomic<std::uint32_t>& forks() noexcept {
  static constinit std::atomic<std::uint32_t> count{0};
  return count;
}

/// Remembers the process that made it.
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
