// Pitfall: an await_suspend that is inlined may have its variables in the coroutine's frame (clang up to 18):
// when it has handed the coroutine to another thread, it still writes into a frame that may be gone. Way
// around: every await_suspend of wick's that hands the coroutine on is noinline.
#include <coroutine>
#include <cstddef>
#include <cstring>
#include <exception>
#include <new>

#include "pitfall.hpp"

namespace {

/// Holds the frame, also after it was destroyed: what is written into it then can be seen without harm.
alignas(std::max_align_t) unsigned char place[4096];
bool destroyed = false;
constexpr unsigned char pattern = 0xA5;

struct detached {
  struct promise_type {
    static void* operator new(std::size_t size) {
      if (size > sizeof(place)) throw std::bad_alloc();
      return place;
    }
    static void operator delete(void*, std::size_t) noexcept {
      std::memset(place, pattern, sizeof(place));
      destroyed = true;
    }
    detached get_return_object() noexcept { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }
  };
};

volatile int sink = 0;
void* escaped = nullptr;
[[gnu::noinline]] void look_at(void* p) noexcept {
  asm volatile("" : : "r"(p) : "memory");
  escaped = p;
}

/// Resumes the coroutine, which ends and is destroyed, and then writes to a variable of its own.
[[gnu::always_inline]] inline void hand_over_and_write(std::coroutine_handle<> h) noexcept {
  int local[16] = {};
  look_at(local);
  h.resume();
  for (int& x : local) x = sink + 1;
  look_at(local);
}

struct inlined {
  bool await_ready() const noexcept { return false; }
  [[gnu::always_inline]] void await_suspend(std::coroutine_handle<> h) const noexcept {
    hand_over_and_write(h);
  }
  void await_resume() const noexcept {}
};
struct not_inlined {
  bool await_ready() const noexcept { return false; }
  [[gnu::noinline]] void await_suspend(std::coroutine_handle<> h) const noexcept { hand_over_and_write(h); }
  void await_resume() const noexcept {}
};

/// As wick's tasks have it: true when the coroutine stays suspended.
struct says_whether {
  bool await_ready() const noexcept { return false; }
  [[gnu::noinline]] bool await_suspend(std::coroutine_handle<> h) const noexcept {
    hand_over_and_write(h);
    return true;
  }
  void await_resume() const noexcept {}
};
/// Symmetric transfer: the handle that is returned has to be kept somewhere before it is resumed.
struct says_who {
  bool await_ready() const noexcept { return false; }
  [[gnu::always_inline]] std::coroutine_handle<> await_suspend(std::coroutine_handle<> h) const noexcept {
    hand_over_and_write(h);
    return std::noop_coroutine();
  }
  void await_resume() const noexcept {}
};

template <class Awaiter>
detached run() {
  co_await Awaiter{};
}

template <class Awaiter>
bool frame_left_alone() {
  destroyed = false;
  run<Awaiter>();
  if (!destroyed) return false;
  for (const unsigned char byte : place) {
    if (byte != pattern) return false;
  }
  return true;
}

}  // namespace

int main() {
  pitfall::expect(frame_left_alone<not_inlined>(),
                  "a noinline await_suspend writes nothing into a frame that is gone");
  pitfall::expect(frame_left_alone<says_whether>(), "one that says whether to suspend does not either");
  pitfall::found(!frame_left_alone<says_who>(),
                 "an await_suspend that returns a handle writes into a frame that is gone");
  pitfall::found(!frame_left_alone<inlined>(), "an inlined await_suspend writes into a frame that is gone");
  return pitfall::result();
}
