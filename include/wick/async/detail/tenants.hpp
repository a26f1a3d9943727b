// The users of an executor's workers, and how long each has used them.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

namespace wick::inline v0_1::detail {

/// Any thread. A tenant counts its own time; only ticks_of_others() and leave() ask for it.
class tenants {
 public:
  /// `ticks(who)` returns how long `who` has used the workers so far; any thread may call it until leave().
  void enter(const void* who, std::uint64_t (*ticks)(const void*));
  void leave(const void* who) noexcept;
  /// The ticks of all present and past tenants except `who`.
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
