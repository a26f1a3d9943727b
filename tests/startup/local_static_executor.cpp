// An executor made by the first who asks for it (a function's static), and a program that leaves by
// std::exit, from a function deep below main and with work queued.
#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "../support/future.hpp"
#include <wick/async/executor.hpp>
#include <wick/async/sync_wait.hpp>
#include <wick/async/task.hpp>

namespace {

std::atomic<int> done{0};
constexpr int each = 500;

void verdict() {
  std::printf("%d of %d\n", done.load(), each + 1);
  std::fflush(stdout);
  if (done != each + 1) std::_Exit(1);
}

wick::executor& everywhere() {
  static wick::executor ex(2);
  return ex;
}

wick::task<int> hop(wick::executor* ex) {
  co_await ex->schedule();
  co_return done.fetch_add(1);
}

[[noreturn]] void leave() {
  for (int i = 0; i < each; ++i) static_cast<void>(wick_test::as_future(everywhere(), hop(&everywhere())));
  std::exit(0);
}

}  // namespace

int main() {
  if (std::atexit(verdict) != 0)
    return 1;  // called after the executor's destructor, which is registered later
  wick::ext::sync_wait(hop(&everywhere()));
  leave();
}
