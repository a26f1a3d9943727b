// An executor at namespace scope: work is posted before main, in it, and is still queued when main returns.
// It is destroyed after main, with everything done, by threads that are still there, and nothing hangs.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

#include "../support/future.hpp"
#include <wick/async/detail/job.hpp>
#include <wick/async/executor.hpp>
#include <wick/async/sleep.hpp>
#include <wick/async/stop_token.hpp>
#include <wick/async/sync_wait.hpp>
#include <wick/async/task.hpp>

namespace {

std::atomic<int> before_main{0}, in_main{0}, at_exit{0}, called_off{0}, blocking{0};
constexpr int each = 200;

/// Made before the executor, so destroyed after it: what it sees is final.
struct verdict {
  ~verdict() {
    std::printf("before main %d, in main %d, at exit %d, blocking %d, called off %d\n", before_main.load(),
                in_main.load(), at_exit.load(), blocking.load(), called_off.load());
    const bool all =
        before_main == each && in_main == each && at_exit == each && blocking == 1 && called_off == 1;
    std::puts(all ? "all done" : "FAILED: something was left behind");
    std::fflush(stdout);
    if (!all) std::_Exit(1);
  }
};
const verdict last;

wick::executor everywhere({.workers = 2, .io_threads = 1, .queue_capacity = 2});

wick::task<void> hop(wick::executor* ex, std::atomic<int>* done) {
  for (int i = 0; i < 5; ++i) co_await ex->schedule();
  done->fetch_add(1);
}
wick::task<void> sleep_long(wick::executor* ex) {
  try {
    auto sleep = wick::sleep_for(std::chrono::hours(1), {*ex});
    co_await sleep;
  } catch (const wick::cancelled&) {
    called_off.fetch_add(1);
  }
}
wick::task<void> block(wick::executor* ex) {
  auto call = ex->io().run(*ex, [] { blocking.fetch_add(1); });
  co_await call;
}

/// No caller waits for these: the executor's destructor does.
void start_many(std::atomic<int>& done) {
  for (int i = 0; i < each; ++i) static_cast<void>(wick_test::as_future(everywhere, hop(&everywhere, &done)));
}

/// Made after the executor, so destroyed before it, when main has returned.
struct user {
  user() { start_many(before_main); }
  ~user() { start_many(at_exit); }
};
const user of_it;

}  // namespace

int main() {
  start_many(in_main);
  static_cast<void>(wick_test::as_future(everywhere, sleep_long(&everywhere)));
  auto blocks = wick_test::as_future(everywhere, block(&everywhere));
  blocks.get();  // the executor works before it is left
  return everywhere.workers() == 2 ? 0 : 1;
}
