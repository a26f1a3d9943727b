// Pitfall: structured bindings straight from a co_await in a loop: g++ 15 does not destroy what they bind to.
// Way around: bind a variable that has a name.
#include <utility>

#include "engine.hpp"
#include "pitfall.hpp"
#include <wick/async/sync_wait.hpp>
#include <wick/async/task.hpp>

namespace {

using pitfall::counted;

wick::task<std::pair<int, counted>> give(int n) { co_return std::pair<int, counted>(n, counted()); }

wick::task<int> named() {
  int sum = 0;
  for (int i = 0; i < 10; ++i) {
    auto both = co_await give(i);
    const auto& [n, here] = both;
    sum += n;
  }
  co_return sum;
}

wick::task<int> straight() {
  int sum = 0;
  for (int i = 0; i < 10; ++i) {
    auto [n, here] = co_await give(i);
    sum += n;
  }
  co_return sum;
}

}  // namespace

int main() {
  int sum = 0;
  pitfall::expect(pitfall::balanced([&] { sum = wick::ext::sync_wait(named()); }),
                  "a named pair is destroyed each time");
  pitfall::expect(sum == 45, "and gives its values");
  pitfall::found(!pitfall::balanced([&] { sum = wick::ext::sync_wait(straight()); }) || sum != 45,
                 "structured bindings straight from a co_await are not destroyed once");
  return pitfall::result();
}
