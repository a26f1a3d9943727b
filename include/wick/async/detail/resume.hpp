// Resumes coroutines without growing the stack: nested up to a depth, and past it from a list at the bottom
// of the stack.
#pragma once

#include <atomic>
#include <coroutine>
#include <cstdint>
#include <utility>

namespace wick::inline v0_1::detail {

/// A coroutine to resume; part of the frame of one that stays alive until then.
struct resume_node {
  std::coroutine_handle<> handle;
  resume_node* next = nullptr;
};

/// The resumptions of one thread. With symmetric transfer they wouldn't be needed, but gcc makes it a tail
/// call only when it optimizes and never under sanitizers: a chain of 10^6 awaits would overflow the stack.
struct resume_stack {
  static constexpr unsigned max_depth = 48;
  unsigned depth = 0;
  resume_node* first = nullptr;
  resume_node** last = &first;
};

class activity;

/// What a thread is running. `innermost` names the innermost call on its stack that started a child and waits
/// for it to suspend or end: a child that finds its own name there when it ends knows that its parent is
/// right below.
struct resumption {
  resume_stack* stack = nullptr;
  std::atomic<activity*> of{nullptr};  // the running code's activity, if it has one; any thread reads
  std::uint64_t innermost = 0;
  std::uint64_t next_name = 0;

  /// Unique across all threads.
  std::uint64_t new_name() noexcept {
    if ((next_name & 0xFF'FFFF'FFFF) == 0) next_name = new_block();
    return next_name++;
  }

 private:
  static std::uint64_t new_block() noexcept {
    static constinit std::atomic<std::uint64_t> blocks{1};
    return (blocks.fetch_add(1, std::memory_order_relaxed) << 40) + 1;
  }
};

/// Never inlined: a thread-local's address must not be kept in a frame that moves to another thread.
[[gnu::noinline]] inline resumption& this_thread_resumption() noexcept {
  static constinit thread_local resumption mine;
  return mine;
}

/// Resumes from outside any coroutine (a worker's loop, a waiting thread), and runs everything that this
/// leads to.
inline void resume(std::coroutine_handle<> handle) {
  resume_stack stack;
  resumption& here = this_thread_resumption();
  resume_stack* const outer = std::exchange(here.stack, &stack);
  activity* const outer_of = here.of.load(std::memory_order_relaxed);
  here.of.store(nullptr, std::memory_order_relaxed);
  handle.resume();
  while (resume_node* node = stack.first) {
    stack.first = node->next;
    if (stack.first == nullptr) stack.last = &stack.first;
    stack.depth = 0;
    here.of.store(nullptr, std::memory_order_relaxed);
    node->handle.resume();
  }
  here.stack = outer;
  here.of.store(outer_of, std::memory_order_relaxed);
}

/// Resumes from within an await_suspend. True: it ran, on top of this stack. False: the stack is already
/// deep; the node is queued and runs once the caller has returned to the bottom, which it must do at once.
inline bool resume_nested(resumption& here, resume_node& node) {
  resume_stack* const stack = here.stack;
  if (stack == nullptr) {  // one of the user's threads resumed this coroutine
    resume(node.handle);
    return true;
  }
  if (stack->depth >= resume_stack::max_depth) {
    node.next = nullptr;
    *stack->last = &node;
    stack->last = &node.next;
    return false;
  }
  ++stack->depth;
  node.handle.resume();
  --stack->depth;
  return true;
}
inline bool resume_nested(resume_node& node) { return resume_nested(this_thread_resumption(), node); }

}  // namespace wick::detail
