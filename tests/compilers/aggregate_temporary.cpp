// Pitfall: g++ 12 destroys an aggregate temporary in `co_await f(Aggregate{…})` twice.
// Way around: the argument is a variable with a name, and so is what is awaited.
#include <utility>

#include "engine.hpp"
#include "pitfall.hpp"
#include <wick/async/sync_wait.hpp>
#include <wick/async/task.hpp>

namespace {

struct parcel {
  pitfall::counted here;
  int number;
};

wick::task<int> weigh(parcel p) { co_return p.number; }

wick::task<int> named() {
  parcel p{{}, 3};
  auto weighing = weigh(std::move(p));
  const int n = co_await weighing;
  co_return n;
}

wick::task<int> in_one_expression() {
  const int n = co_await weigh(parcel{{}, 3});
  co_return n;
}

}  // namespace

int main() {
  int n = 0;
  pitfall::expect(pitfall::balanced([&] { n = wick::ext::sync_wait(named()); }),
                  "a named argument is destroyed once");
  pitfall::expect(n == 3, "and arrives");
  pitfall::found(!pitfall::balanced([&] { n = wick::ext::sync_wait(in_one_expression()); }),
                 "an aggregate temporary of a co_await expression is destroyed twice");
  return pitfall::result();
}
