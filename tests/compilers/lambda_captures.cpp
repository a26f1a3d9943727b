// Pitfall: a coroutine lambda's captures lie in the lambda, not in the frame: when it was a temporary they
// are gone before the coroutine starts. And g++ has destroyed the captures of a plain lambda twice when it
// stood beside a co_await. Way around: no captures, all is passed as parameters; a callable is made in a
// statement of its own.
#include <utility>

#include "engine.hpp"
#include "pitfall.hpp"
#include <wick/async/executor.hpp>
#include <wick/async/sync_wait.hpp>
#include <wick/async/task.hpp>

namespace {

using pitfall::counted;

wick::task<int> named(wick::executor* ex) {
  auto call = [here = counted(), n = 4] { return n; };
  auto blocking = ex->io().run(*ex, std::move(call));
  const int n = co_await blocking;
  co_return n;
}

wick::task<int> beside(wick::executor* ex) {
  const int n = co_await ex->io().run(*ex, [here = counted(), n = 4] { return n; });
  co_return n;
}

}  // namespace

int main() {
  wick::executor ex(1);
  int n = 0;
  pitfall::expect(pitfall::balanced([&] { n = wick::ext::sync_wait(named(&ex)); }),
                  "a named callable is destroyed once");
  pitfall::expect(n == 4, "and is called");

  counted::alive = 0;
  {
    auto t = [](counted, int x) -> wick::task<int> { co_return x; }(counted(), 6);
    pitfall::expect(counted::alive == 1, "a parameter of a coroutine lambda lives in the frame");
    pitfall::expect(wick::ext::sync_wait(std::move(t)) == 6, "and is there when it starts");
  }
  counted::alive = 0;
  {
    const auto t = [here = counted()]() -> wick::task<int> { co_return sizeof(here); }();
    pitfall::found(counted::alive == 0,
                   "captures are gone before the coroutine starts (the standard says so)");
  }
  pitfall::found(!pitfall::balanced([&] { n = wick::ext::sync_wait(beside(&ex)); }),
                 "captures of a lambda beside a co_await are not destroyed once");
  return pitfall::result();
}
