// Pitfall: symmetric transfer (an await_suspend that returns a handle) is a tail call only where the compiler
// makes it one: g++ not at -O0, and not under sanitizers. A long chain overflows the stack. Way around:
// wick's tasks return bool from await_suspend, meet at an atomic, and resume nested up to a bounded depth.
#include <coroutine>
#include <exception>
#include <utility>

#include "engine.hpp"
#include "pitfall.hpp"
#include <wick/async/sync_wait.hpp>
#include <wick/async/task.hpp>

namespace {

pitfall::stack_span* span = nullptr;

/// A task as textbooks have it.
struct symmetric {
  struct promise_type {
    std::coroutine_handle<> parent = std::noop_coroutine();
    symmetric get_return_object() noexcept {
      return symmetric(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    struct to_parent {
      bool await_ready() const noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> h) const noexcept {
        return h.promise().parent;
      }
      void await_resume() const noexcept {}
    };
    to_parent final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }
  };
  explicit symmetric(std::coroutine_handle<promise_type> of) noexcept : handle(of) {}
  symmetric(symmetric&& other) noexcept : handle(std::exchange(other.handle, nullptr)) {}
  ~symmetric() {
    if (handle) handle.destroy();
  }
  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> parent) noexcept {
    handle.promise().parent = parent;
    return handle;
  }
  void await_resume() const noexcept {}
  std::coroutine_handle<promise_type> handle;
};

symmetric textbook(int depth) {
  span->touch();
  if (depth != 0) {
    auto below = textbook(depth - 1);
    co_await below;
  }
  span->touch();
}

wick::task<void> ours(int depth) {
  span->touch();
  if (depth != 0) {
    auto below = ours(depth - 1);
    co_await below;
  }
  span->touch();
}

constexpr int few = 100, many = 2000;  // many would still fit if they were nested

template <class F>
std::size_t stack_of(F f) {
  pitfall::stack_span s;
  span = &s;
  f();
  return s.bytes();
}

}  // namespace

int main() {
  const auto run_textbook = [](int depth) {
    return stack_of([=] {
      const auto t = textbook(depth);
      t.handle.resume();
    });
  };
  const auto run_ours = [](int depth) { return stack_of([=] { wick::ext::sync_wait(ours(depth)); }); };
  const std::size_t bounded = run_ours(few);
  std::printf("wick: %zu bytes of stack for a chain of %d, %zu for %d\n", bounded, few, run_ours(many), many);
  pitfall::expect(run_ours(many) <= bounded + 256,
                  "a chain of wick's tasks takes no more stack when it is longer");
  const std::size_t shallow = run_textbook(few), deep = run_textbook(many);
  std::printf("symmetric transfer: %zu bytes for %d, %zu for %d\n", shallow, few, deep, many);
  pitfall::found(deep > 2 * shallow + 4096, "symmetric transfer takes stack with each link");
  return pitfall::result();
}
