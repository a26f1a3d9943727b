/// \file
/// Who shares an executor's workers, and how long each of them has used them.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

namespace wick::inline v0_1::detail {

/// Any thread. A tenant counts its own time; only ticks_of_others() asks for it.
class tenants {
 public:
  /// `ticks(who)` is how long `who` has used the workers so far; called on any thread until leave().
  void enter(const void* who, std::uint64_t (*ticks)(const void*));
  void leave(const void* who) noexcept;
  /// Of all that there are and were, without `who`.
  std::uint64_t ticks_of_others(const void* who) const;

 private:
  struct tenant {
    const void* who;
    std::uint64_t (*ticks)(const void*);
  };
  mutable std::mutex mutex_;
  std::vector<tenant> all_;
  std::uint64_t gone_ = 0;
};

}  // namespace wick::detail
