// The processors that a thread may run on, on machines of any size.
#pragma once

#include <cstddef>
#include <vector>

#ifdef __linux__
#include <sched.h>
#endif

namespace wick::inline v0_1::detail {

/// The system's bit mask, as long as the kernel's. Empty on systems that have none.
class cpu_set {
 public:
  static cpu_set of_this_thread();

  static cpu_set of(int cpu);

  /// The processors' numbers, ascending.
  std::vector<int> numbers() const;

  /// Binds the calling thread. Returns false if the system refuses; an empty set changes nothing.
  bool apply() const noexcept;

 private:
#ifdef __linux__
  std::size_t bytes() const noexcept { return bits_.size() * sizeof(::cpu_set_t); }
  std::vector<::cpu_set_t> bits_;
#endif
};

}  // namespace wick::detail
