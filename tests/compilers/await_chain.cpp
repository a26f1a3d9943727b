// A million awaits take a bounded stack: in a loop, nested a million deep, and where tasks end on a worker.
// Compiled without optimization, with and without AddressSanitizer: where no compiler makes a resumption a
// tail call by itself.
//
// The stack is measured: the addresses of the lowest and the highest frame that a coroutine's body calls
// from.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "../support/stack_span.hpp"
#include "engine.hpp"
#include "pitfall.hpp"
#include <wick/async/executor.hpp>
#include <wick/async/sync_wait.hpp>
#include <wick/async/task.hpp>

namespace {

using span = wick_test::stack_span;

wick::task<int> at_once(span* s) {
  s->touch();
  co_return 1;
}
wick::task<int> on_worker(wick::executor* ex, span* s) {
  co_await ex->schedule();
  s->touch();
  co_return 1;
}

wick::task<long> loop(wick::executor* ex, span* s, long n) {
  long sum = 0;
  for (long i = 0; i < n; ++i) {
    if (ex != nullptr) {
      const int one = co_await on_worker(ex, s);
      sum += one;
    } else {
      const int one = co_await at_once(s);
      sum += one;
    }
    s->touch();
  }
  co_return sum;
}

/// Nested: each link awaits the next one; the innermost hops when there is an executor.
wick::task<long> link(wick::executor* ex, span* s, long depth) {
  s->touch();
  if (depth == 0) {
    if (ex != nullptr) co_await ex->schedule();
    s->touch();
    co_return 0;
  }
  const long below = co_await link(ex, s, depth - 1);
  s->touch();
  co_return below + 1;
}

/// Nested, and every link hops on its way back.
wick::task<long> hopping_link(wick::executor* ex, span* s, long depth) {
  s->touch();
  if (depth == 0) co_return 0;
  const long below = co_await hopping_link(ex, s, depth - 1);
  co_await ex->schedule();
  s->touch();
  co_return below + 1;
}

void check(const char* what, long n, std::size_t bound, wick::task<long> t, const span& s) {
  const long got = wick::ext::sync_wait(std::move(t));
  std::printf("%-58s %8ld awaits, %7zu bytes of stack (bound %zu)\n", what, n, s.bytes(), bound);
  std::fflush(stdout);
  pitfall::expect(got == n, "every await gives its value");
  pitfall::expect(s.bytes() > 0, "the stack was measured");
  pitfall::expect(s.bytes() < bound, "the stack stays within the bound");
}

}  // namespace

int main(int argc, char** argv) {
  const long n = argc > 1 ? std::atol(argv[1]) : 1'000'000;
  // A loop nests one await; a chain is nested 48 deep before it continues from the bottom.
  constexpr std::size_t one = 8 * 1024, nest = 160 * 1024;
  wick::executor ex(2);
  {
    span s;
    check("a loop over tasks that end at once", n, one, loop(nullptr, &s, n), s);
  }
  {
    span s;
    check("a loop over tasks that end on a worker", n, one, loop(&ex, &s, n), s);
  }
  {
    span s;
    check("a nested chain that does not suspend", n, nest, link(nullptr, &s, n), s);
  }
  {
    span s;
    check("a nested chain whose innermost ends on a worker", n, nest, link(&ex, &s, n), s);
  }
  {
    span s;
    check("a nested chain of which each link hops", n, nest, hopping_link(&ex, &s, n), s);
  }
  return pitfall::result();
}
