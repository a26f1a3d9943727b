/// \file
/// Resuming coroutines without growing the stack: nested up to a depth, past it from a list at the bottom.
#pragma once

#include <coroutine>
#include <utility>

namespace wick::detail {

/// A coroutine to resume; lies in the frame of one that stays alive until then.
struct resume_node {
  std::coroutine_handle<> handle;
  resume_node* next = nullptr;
};

/// The resumptions of one thread. Symmetric transfer would need none of this, but gcc makes it a tail call only when
/// it optimises and never under sanitizers: a chain of 10^6 awaits would overflow the stack.
struct resume_stack {
  static constexpr unsigned max_depth = 48;
  unsigned depth = 0;
  resume_node* first = nullptr;
  resume_node** last = &first;
};

/// Never inlined: a thread-local's address must not be kept in a frame that moves to another thread.
[[gnu::noinline]] inline resume_stack*& current_resume_stack() noexcept {
  thread_local resume_stack* current = nullptr;
  return current;
}

/// Resumes from outside of any coroutine (a worker's loop, a waiting thread), and all that this leads to.
inline void resume(std::coroutine_handle<> handle) {
  resume_stack stack;
  resume_stack*& current = current_resume_stack();
  resume_stack* const outer = std::exchange(current, &stack);
  handle.resume();
  while (resume_node* node = stack.first) {
    stack.first = node->next;
    if (stack.first == nullptr) stack.last = &stack.first;
    stack.depth = 0;
    node->handle.resume();
  }
  current_resume_stack() = outer;
}

/// Resumes from within an await_suspend. True: it ran, on top of this stack. False: the stack is deep already; the
/// node is queued and runs once the caller has returned to the bottom, which it must do without further ado.
inline bool resume_nested(resume_node& node) {
  resume_stack* const stack = current_resume_stack();
  if (stack == nullptr) {  // a thread that is not ours resumed this coroutine
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

}  // namespace wick::detail
