// Pitfall: a macro may write its argument twice, and then it is awaited twice: `CHECK(co_await …)`,
// `assert(co_await …)`. Way around: await into a variable, hand the variable to the macro.
#include "engine.hpp"
#include "pitfall.hpp"
#include <wick/async/sync_wait.hpp>
#include <wick/async/task.hpp>

#define LARGER(a, b) ((a) < (b) ? (b) : (a))

namespace {

int awaited = 0;
wick::task<int> give(int n) {
  ++awaited;
  co_return n;
}

wick::task<int> named() {
  const int a = co_await give(1);
  const int b = co_await give(2);
  co_return LARGER(a, b);
}

wick::task<int> in_macro() {
  const int a = 1;
  const int n = LARGER(a, co_await give(2));
  co_return n;
}

}  // namespace

int main() {
  pitfall::expect(wick::ext::sync_wait(named()) == 2 && awaited == 2, "awaited once each");
  awaited = 0;
  (void)wick::ext::sync_wait(in_macro());
  pitfall::found(awaited != 1, "an await in a macro's argument runs more than once (the language says so)");
  return pitfall::result();
}
