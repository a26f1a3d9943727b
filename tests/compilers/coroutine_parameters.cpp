// Pitfall: a coroutine keeps its parameters until its frame is destroyed, which is later than its end; a
// reference parameter may be gone before its start; and compilers have lost parameters when the start itself
// failed. Way around: parameters by value; sync_wait, scope and when_all drop a task, parameters included,
// before its waiter continues; nothing that a coroutine is called with throws when it is moved.
#include <memory>
#include <stdexcept>
#include <utility>

#include "engine.hpp"
#include "pitfall.hpp"
#include <wick/async/detail/scope.hpp>
#include <wick/async/executor.hpp>
#include <wick/async/sync_wait.hpp>
#include <wick/async/task.hpp>
#include <wick/async/when_all.hpp>

namespace {

using pitfall::counted;

wick::task<int> length(std::unique_ptr<int> p, counted) { co_return *p; }

wick::task<int> later(wick::task<int> t) {
  const int n = co_await t;
  co_return n;
}

wick::task<void> hold(wick::executor* ex, counted) { co_await ex->schedule(); }

wick::task<bool> gone_after_when_all(wick::executor* ex) {
  auto both = wick::when_all(hold(ex, {}), hold(ex, {}));
  co_await both;
  co_return counted::alive == 0;
}

struct throws_when_moved {
  throws_when_moved() = default;
  throws_when_moved(const throws_when_moved&) { throw std::runtime_error("moved"); }
};
[[maybe_unused]] wick::task<int> fails_to_start(counted, throws_when_moved) { co_return 1; }

}  // namespace

int main() {
  counted::alive = 0;
  {
    auto t = [] {
      auto of = std::make_unique<int>(5);  // gone with this function, had it been a reference
      return later(length(std::move(of), {}));
    }();
    pitfall::expect(counted::alive == 1, "a parameter lives before the start");
    pitfall::expect(wick::ext::sync_wait(std::move(t)) == 5,
                    "a parameter by value is there when the coroutine starts");
    pitfall::expect(counted::alive == 0, "it is gone when sync_wait returns");
  }
  wick::executor ex(2);
  pitfall::expect(wick::ext::sync_wait(gone_after_when_all(&ex)),
                  "parameters are gone when when_all has ended");
  {
    wick::detail::scope s(ex);
    for (int i = 0; i < 3; ++i) s.spawn(hold(&ex, {}));
    s.wait();
    pitfall::expect(counted::alive == 0, "parameters are gone when a scope has been waited for");
  }
#if !defined(__SANITIZE_ADDRESS__)
  bool balanced = pitfall::balanced([] {
    try {
      const auto t = fails_to_start({}, {});
    } catch (const std::runtime_error&) {
    }
  });
  pitfall::found(!balanced, "parameters are lost, or dropped twice, when one cannot be moved into the frame");
#endif
  return pitfall::result();
}
