// Pitfall: a compiler may keep the address of a thread-local over a suspension, also
// std::this_thread::get_id(), and continue with that of the thread from before. (clang does up to 15. A
// function that is not inlined does not help when the compiler sees that it always gives the same and is sure
// that no other definition replaces it.) Way around: thread-locals are read in the worker's loop, or in a
// noinline *inline* function: one that another definition could replace, so that nothing is concluded from
// its body. executor::this_slot() is such.
#include <thread>
#include <utility>

#include "engine.hpp"
#include "pitfall.hpp"
#include <wick/async/executor.hpp>
#include <wick/async/sync_wait.hpp>
#include <wick/async/task.hpp>

[[gnu::noinline]] inline int* accessor() noexcept {
  thread_local int mine = 0;
  return &mine;
}
[[gnu::noinline]] int* exact() noexcept {
  thread_local int mine = 0;
  return &mine;
}
thread_local int plain = 0;

namespace {

struct seen {
  bool accessor, slot, exact, plain, id;
};

/// Starts on main's thread and continues on the worker: all of them must differ.
wick::task<seen> hop(wick::executor* ex) {
  int* const a = accessor();
  const std::size_t slot = ex->this_slot();
  int* const e = exact();
  int* const p = &plain;
  const std::thread::id id = std::this_thread::get_id();
  co_await ex->schedule();
  co_return seen{a != accessor(), slot != ex->this_slot(), e != exact(), p != &plain,
                 id != std::this_thread::get_id()};
}

}  // namespace

int main() {
  wick::executor ex(1);
  const seen s = wick::ext::sync_wait(hop(&ex));
  pitfall::expect(s.accessor, "a noinline inline accessor gives this thread's");
  pitfall::expect(s.slot, "executor::this_slot() is this thread's");
  pitfall::found(!s.exact, "a noinline function that is not inline gives the old thread's");
  pitfall::found(!s.plain, "a thread-local gives the old thread's");
  pitfall::found(!s.id, "std::this_thread::get_id() gives the old thread's");
  return pitfall::result();
}
