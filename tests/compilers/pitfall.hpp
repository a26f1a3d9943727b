// What the programs of this folder share: what must hold, what a compiler is seen to do, how much stack was
// used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace pitfall {

inline int failures = 0;

/// What wick relies on: a failure when it does not hold.
inline void expect(bool holds, const char* what) {
  if (holds) return;
  ++failures;
  std::printf("FAILED: %s\n", what);
}

/// What the compiler does with code that wick does not write: printed, never a failure.
inline void found(bool has_it, const char* what) {
  std::printf("this compiler %s: %s\n", has_it ? "HAS the pitfall" : "does not have the pitfall", what);
}

/// main's result.
inline int result() {
  std::printf(failures == 0 ? "ok\n" : "%d failed\n", failures);
  return failures == 0 ? 0 : 1;
}

/// Counts its constructions and destructions; the sum is 0 when every object was destroyed once.
struct counted {
  static inline int alive = 0;
  counted() noexcept { ++alive; }
  counted(const counted&) noexcept { ++alive; }
  counted& operator=(const counted&) noexcept = default;
  ~counted() { --alive; }
};

/// Whether each object that `f` makes is destroyed once.
template <class F>
bool balanced(F f) {
  counted::alive = 0;
  f();
  return counted::alive == 0;
}

/// The stack between the lowest and the highest frame that called touch(). One thread.
class stack_span {
 public:
  [[gnu::noinline]] void touch() noexcept {
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    if (high_ == 0) low_ = high_ = here;
    if (here < low_) low_ = here;
    if (here > high_) high_ = here;
  }
  std::size_t bytes() const noexcept { return high_ - low_; }

 private:
  std::uintptr_t low_ = 0, high_ = 0;
};

}  // namespace pitfall
