// Pitfall: a co_await inside ?: or after && has made compilers evaluate or destroy what belongs to the
// branch that was not taken. Way around: one co_await a statement, into a variable with a name, in an if.
#include "engine.hpp"
#include "pitfall.hpp"
#include <wick/async/sync_wait.hpp>
#include <wick/async/task.hpp>

namespace {

using pitfall::counted;

int started = 0;
wick::task<int> give(counted, int n) {
  ++started;
  co_return n;
}

wick::task<int> in_statements(bool first, bool second) {
  int n = 0;
  if (first) {
    n = co_await give({}, 1);
  } else {
    n = co_await give({}, 2);
  }
  if (second) {
    const int more = co_await give({}, 10);
    n += more;
  }
  co_return n;
}

wick::task<int> in_expressions(bool first, bool second) {
  const int n = first ? co_await give(counted(), 1) : co_await give(counted(), 2);
  const bool more = second && co_await give(counted(), 10) == 10;
  co_return n + (more ? 10 : 0);
}

template <class F>
bool right(F f) {
  bool all = true;
  for (const bool first : {false, true}) {
    for (const bool second : {false, true}) {
      int n = 0;
      started = 0;
      all = pitfall::balanced([&] { n = wick::ext::sync_wait(f(first, second)); }) && all;
      all = all && n == (first ? 1 : 2) + (second ? 10 : 0) && started == (second ? 2 : 1);
    }
  }
  return all;
}

}  // namespace

int main() {
  pitfall::expect(right(in_statements), "in statements: what is taken is awaited, and nothing else");
  pitfall::found(!right(in_expressions), "in expressions something else is started, destroyed or given");
  return pitfall::result();
}
