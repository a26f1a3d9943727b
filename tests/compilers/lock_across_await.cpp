// Pitfall: after a co_await a coroutine may be on another thread. A std::mutex would be unlocked by a thread
// that does not hold it, a NoGradGuard or a stream guard would be restored on the wrong one. Way around:
// an async_semaphore of one permit, which belongs to the coroutine; thread-bound guards end before the await.
#include <cstddef>
#include <vector>

#include "engine.hpp"
#include "pitfall.hpp"
#include <wick/async/async_semaphore.hpp>
#include <wick/async/detail/scope.hpp>
#include <wick/async/executor.hpp>
#include <wick/async/task.hpp>

namespace {

struct account {
  wick::executor* ex;
  wick::async_semaphore mutex{1};
  int inside = 0, entries = 0, worst = 0, moved = 0;

  static wick::task<void> visit(account* a) {
    for (int i = 0; i < 50; ++i) {
      auto guard = co_await a->mutex.acquire({*a->ex});
      if (++a->inside > a->worst) a->worst = a->inside;
      const std::size_t before = a->ex->this_slot();
      co_await a->ex->schedule();
      if (before != a->ex->this_slot()) ++a->moved;
      --a->inside;
      ++a->entries;
    }
  }
};

}  // namespace

int main() {
  wick::executor ex(4);
  account a{&ex};
  {
    wick::detail::scope s(ex);
    for (int i = 0; i < 8; ++i) s.spawn(account::visit(&a));
    s.wait();
  }
  pitfall::expect(a.worst == 1, "one at a time, though it hops while it holds the mutex");
  pitfall::expect(a.entries == 8 * 50, "each entered as often as it wanted");
  pitfall::found(a.moved > 0, "a coroutine went on on another worker (any compiler: they all may)");
  return pitfall::result();
}
